"""Word lists for finding names without a model: what no name begins or ends with, what joins its parts.

Short closed classes only. They decide what is offered to the model, which still chooses.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _words(
    """
    a an the this that these those such same other another each every either neither both all any some
    no none several many much more most few fewer less least enough own i me my mine myself we us our
    ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
    itself they them their theirs themselves one ones who whom whose which what where when why how
    whoever whatever whichever wherever whenever someone somebody something anyone anybody anything
    everyone everybody everything nobody nothing and or but nor so yet for of in on at by to from with
    without within into onto upon over under above below between among through during before after since
    until till about against across along around behind beside besides beyond despite except inside like
    near off out outside past per than toward towards via versus vs amid as if because although though
    while whereas unless whether once then thus hence therefore however moreover furthermore
    nevertheless meanwhile otherwise instead also too only just even still already again ever never
    always often sometimes usually rarely soon later earlier now here there today yesterday tomorrow ago
    away back up down very quite rather almost nearly perhaps maybe indeed especially particularly
    mainly not n't let etc e.g. i.e. a.m. p.m. cf. well first second third last next new old finally
    according due is are was were be been being am has have had having do does did doing done can could
    may might must shall should will would cannot said says say saying told tell tells asked ask asks
    called call calls made make makes making took take takes taken taking gave give gives given giving
    got get gets getting went go goes going gone came come comes coming became become becomes becoming
    began begin begins begun seen see sees saw known know knows knew used use uses using found find
    finds left leave leaves held hold holds kept keep keeps led lead leads met meet meets put puts set
    sets sent send sends show shows showed shown seem seems seemed include includes included including
    followed follows following based located born died won wins lost written wrote writes write played
    plays play produced produces released releases founded joined moved received named worked works
    appointed elected served serves announced reported described considered developed designed built
    published introduced started returned remains remained continued provides provide provided allows
    allow allowed contains contain contained features featured
    """
)
"""English words with which no name begins or ends, and which are no name by themselves; lower case."""

NOT_LAST = _words(
    """
    able available capable certain common different famous important known likely possible responsible several
    similar so-called total unable unknown various
    """
)
"""English words with which no name ends."""

BORDER_WORDS = _words(
    """
    active big broad careful clear close common complete current different early easy entire famous
    former free full good great important independent individual initial key large larger largest late
    local long main major minor modern mysterious only original other popular previous prominent rare
    recent similar simple single small smaller special specific strong successful traditional typical
    useful various vast wide young
    """
)
"""English adjectives that stand before a name more often than they begin one."""

INSIDE_NAMES = _words(
    """
    of the and for in on at to de la le les du des del di da van von der 's ’s & et y
    """
)
"""Those of the words above, and foreign ones, that may stand inside a run of words that is offered."""

LINKS = _words(
    """
    of the and for de la le les du des del della dello di da dal dos das van von der den dem zu zur und
    et y e al el ibn bin ben ter ten 's ’s & a in on at to
    """
)
"""Words over which capitalised words are joined."""

STRONG_LINKS = LINKS - _words("and und et y e & a in on at to")
"""Links after which the joined words are one name; behind the others they may also be two."""

NAME_BEGINNINGS = _words(
    """
    new first second third last next old own will may well one
    """
)
"""Function words that, written with a capital, begin a name even where a sentence begins."""

TITLE_BEGINNINGS = _words(
    """
    a an all every he her his i it let me my no our she such they this we what who you your
    """
)
"""Function words that may begin a title at the beginning of a sentence, if a capitalised word follows."""

ABBREVIATIONS = (
    "Mr|Mrs|Ms|Dr|St|Ste|Jr|Sr|Prof|Gen|Col|Lt|Sgt|Capt|Cpt|Cmdr|Adm|Rev|Hon|Gov|Sen|Rep|Pres|Inc|Corp|Co|Ltd"
    "|Bros|Mt|Ft|No|Nos|vs|etc|cf|ca|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Ave|Blvd|Univ"
)
"""Words that are written with a full stop that ends no sentence, as alternatives of a regular expression."""

MONTHS = (
    "January|February|March|April|May|June|July|August|September|October|November|December"
    "|Jan\\.?|Feb\\.?|Mar\\.|Apr\\.?|Jun\\.?|Jul\\.?|Aug\\.?|Sept?\\.?|Oct\\.?|Nov\\.?|Dec\\.?"
)
"""English months, as alternatives of a regular expression."""

HAN_NEVER = frozenset("的了吗呢吧啊呀么")
"""Particles that lower the rank of any run of characters that holds them."""

HAN_SENTENCE_ENDS = frozenset("了吗呢吧啊呀么")
"""Those of them that are never inside a name."""

HAN_NOT_FIRST = HAN_NEVER | frozenset(
    "着过是和与及或等被把将从由以而但也都就还又并没这那其之者们得在于为很最更已曾正则却只该需让使给"
    "你我他她它您咱某每各该此哪谁另且虽若如因故即便再仍均皆未不至往按据随每"
)
"""Characters with which a Chinese name is not offered to begin."""

HAN_FIRST_ALLOWED = _words(
    """
    以色 以太 所罗 那不 那曲 被告 和平 和田 和谐 等离 等级 从化 得克 得州 在线 最高 最佳 最优 过程 过滤
    过氧 为何 其他 将军 将领 着色 并行 并购 由来 将相 各国 每日 本田 于田 正义 正定 却克 因果 因特 因子
    因斯 如来 未来 不丹 不列 不确 至尊 往返 按揭 随机 使徒 使命 让步 使者 给付 曾国 曾侯 该亚 皆大 故宫
    故事
    """
)
"""Beginnings that are allowed although their first character is not."""

HAN_NOT_LAST = HAN_NEVER | frozenset(
    "着过在是和与及或被把将从以而但也就还又并没这那之很最更已曾正则却只可应该让使给且虽若如因故即再仍均皆"
    "未不至自按据随你我他她它您们时后前里说称等"
)
"""Characters with which a Chinese name is not offered to end, but for `HAN_LAST_ALLOWED`."""

HAN_LAST_ALLOWED = _words(
    """
    小说 学说 传说 名称 中等 高等 利时 其他 土耳 目的 共和 饱和 总和 皇后 太后 之最 故里 公里 千里
    """
)
"""Endings that are allowed although their last character is not."""

HAN_LONG_ENDINGS = ("公司", "大学", "学院", "委员会", "研究所", "研究院", "协会", "博物馆", "银行", "机场")
"""Endings of names that are often longer than other names."""

HAN_BORDER = frozenset("的了着是和与及或在被把将从由以而但也都就还又并于为对向至等、")
"""Characters beside which a Chinese name often begins or ends."""

HAN_ENDINGS = tuple(
    _words(
        """
        公司 集团 大学 学院 中学 小学 银行 政府 议会 法院 委员会 研究所 研究院 实验室 协会 联盟 学会
        基金会 党 军 队 社 局 部 厅 署 院 所 厂 店 馆 站 台 网 报 奖 赛 节 展 杯 会 团 帮 派 主义 革命
        战争 战役 运动 事件 条约 协议 法案 法律 法 省 市 县 区 州 国 镇 乡 村 岛 河 江 湖 海 洋 山 峰 谷
        湾 港 路 街 桥 塔 寺 宫 殿 城 园 机场 车站 医院 教堂 图书馆 博物馆 算法 模型 系统 网络 语言 理论
        定理 定律 效应 函数 方程 方法 技术 工程 程序 软件 平台 标准 数据 数据库 学习 识别 处理 分析 检测
        翻译 学 论 率 度 值 集 机 器 素 酶 酸 病 药 剂 体 星 系 语 文 书 诗 歌 曲 剧 片 小说 电影 专辑
        杂志 期刊 总统 主席 总理 教授 博士 证券 股份 保险 基金 控股 科技 能源 电力 汽车 钢铁 水泥 药业
        地产 航空 铁路 石油 石化
        """
    )
)
"""Endings that make a run of Chinese characters likelier to be a name."""

HAN_SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦许何吕张孔曹严华金魏陶姜谢邹喻苏潘葛范彭郎鲁韦马苗方俞任袁柳唐罗薛雷贺倪汤"
    "滕殷毕郝邬安常乐傅齐康伍余顾孟黄穆萧尹姚邵汪祁毛狄戴宋庞熊纪舒屈项董梁杜阮蓝季贾江童颜郭梅盛林钟徐邱骆高夏蔡田"
    "樊胡凌霍虞万柯管卢莫房丁邓洪石崔龚程邢裴陆荣翁段侯武刘叶龙黎白蒲卓温庄瞿阎连习向古易廖耿匡文曾关涂岳叶司欧"
)
"""Chinese surnames of one character."""

HAN_TRANSLITERATION = frozenset(
    "夫默列堡哥舍摩罕卜厄烈撒丽契赖宁吕宝墨"
    "阿埃艾爱安奥巴贝本比彼宾波伯博布查达戴丹德登迪蒂丁多恩尔法菲费芬弗福盖戈格古哈海汉赫亨胡霍基吉加贾杰金卡凯坎康考"
    "科克肯库拉莱兰朗劳勒雷里利莉林隆卢鲁路伦罗洛马玛迈麦曼梅蒙米密明莫姆穆纳娜内尼妮努诺欧帕派佩彭皮珀普奇齐恰乔切"
    "琼萨塞森莎沙山什史舒斯丝苏索塔泰汤特提廷图托瓦万威韦维温沃乌伍西希夏肖谢辛休雅亚扬耶叶伊因英尤约泽扎詹珍芝兹"
    "奈翰涅柯杜娅婕佐鲍侬凡弥楚豪荷简黎琳缪蓬琪瑞桑圣陶腾旺魏锡逊顿坦茨茜芙迦伽拜甘根葛廉略茅庞仁若施坎瑟"
)
"""Characters with which foreign names are written in Chinese."""

WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
"""English days of the week, which are names only beside a date; lower case."""

TELLING = _words(
    """
    the a an this of in at by and or for with from on to as such & was is are were not that which who between
    like called his her its their
    """
)
"""Function words that are told apart where they stand beside a name."""

PERSON_TITLES = _words(
    """
    president presidents mr. mrs. ms. mr mrs dr. dr minister ministers sir king queen director chairman
    secretary general prince princess prime gov. sen. rep. senator governor professor prof. vice captain
    capt. judge justice lord lady pope saint chief attorney chancellor ambassador commander colonel col. lt.
    gen. sgt. maj. major admiral adm. emperor empress duke duchess count countess earl baron mayor
    representative congressman congresswoman deputy premier spokesman actor actress singer st. father sister
    brother rabbi bishop archbishop cardinal reverend rev. pres. detective officer sheriff inspector coach
    first
    """
)
"""English words that stand, with a capital, before a person's name; lower case."""

HEADS = _words(
    """
    university college school institute academy department ministry commission committee council agency
    bureau office party union association federation league society club company corporation corp. inc. inc
    co. ltd. ltd bank group museum library theatre theater hospital church cathedral court house hall center
    centre park river lake sea ocean island islands mountain mountains mount valley county city province
    district state states republic kingdom empire region street road avenue bridge station airport award
    awards prize medal festival championship championships cup games olympics conference workshop series
    album records band orchestra ensemble army navy force forces division regiment war battle treaty act
    constitution congress parliament senate assembly government administration service services press times
    journal magazine news television radio network channel studios pictures entertainment software system
    systems language algorithm model test tests theory method networks election elections movement revolution
    international national
    """
)
"""English nouns at the core of the names of bodies, places, works and events; lower case."""

DEMONYMS = _words(
    """
    american british english french german italian spanish dutch danish swedish norwegian finnish russian
    soviet chinese japanese korean indian canadian australian mexican brazilian israeli arab arabic greek
    turkish polish czech hungarian irish scottish welsh swiss austrian belgian portuguese roman european
    african asian egyptian iraqi iranian palestinian cuban jewish christian catholic muslim islamic republican
    democratic democrat democrats republicans western eastern northern southern
    """
)
"""English words for people, faiths and quarters; lower case."""

SUFFIXES = tuple(
    sorted(
        _words(
            """
            ing ism ics logy graphy ase ine ide tion ment ity ness ance ence er or ist ian ate al ic ous ive
            able ful ed ly oid ose ol ene age ship ure gen in um us is a o
            """
        ),
        key=lambda ending: (-len(ending), ending),
    )
)
"""Endings of English words that tell terms from everyday words, longest first."""

SHORT_OFFICES = _words("gov capt col lt maj sgt cmdr adm brig")
"""Offices and ranks as they are shortened, without the full stop."""

OFFICES = _words(
    """
    chairman chairwoman chairperson governor captain colonel lieutenant sergeant commander admiral judge
    secretary director mayor minister congressman congresswoman senator spokesman spokeswoman ambassador
    treasurer commissioner superintendent prosecutor inspector acting
    """
)
"""Offices before the name of a person that people seldom count to the name."""

OFFICE_TITLES = _words("president premier sen rep rev king queen prince princess pope emperor vice prime")
"""Titles that people often count to the name behind them."""

LEGAL_FORMS = _words("inc inc. corp corp. co. ltd ltd. llc plc corporation laboratories")
"""Words behind which the name of a firm is complete."""
