"""What a model would read from the sample texts, by a part of the text; always the same."""

RECORDS = {
    "founded the Grey Gull Line in 1923": """
(entity<|>Josiah Pell<|>person<|>Josiah Pell founded the Grey Gull Line in 1923 with one steamer.)##
(entity<|>Grey Gull Line<|>organization<|>The Grey Gull Line carries mail and people to Skerrin Island.)##
(entity<|>Gannet<|>work<|>The Gannet was the company's first steamer, kept for twenty-six years.)##
(entity<|>Skerrin Island<|>location<|>Skerrin Island is reached by the ferries of the Grey Gull Line.)##
(relationship<|>Josiah Pell<|>Grey Gull Line<|>founder<|>Josiah Pell founded the company.)##
(relationship<|>Grey Gull Line<|>Gannet<|>ships<|>The Gannet was the line's first ship.)##
(relationship<|>Grey Gull Line<|>Skerrin Island<|>ferry<|>The line crosses to Skerrin Island.)##
(entity<|>Curlew<|>work<|>The motor ferry Curlew came in 1949 and was lost in the storm of November 1974.)##
(entity<|>Petrel<|>work<|>The Petrel took the place of the Curlew in March 1976 and is kept in reserve.)##
(entity<|>Ines Pell<|>person<|>Ines Pell, granddaughter of the founder, has led the company since 1998.)##
(entity<|>Sanderling<|>work<|>The electric ferry Sanderling made her first crossing on 6 April 2019.)##
(relationship<|>Grey Gull Line<|>Curlew<|>ships<|>The Curlew sailed for the Grey Gull Line.)##
(relationship<|>Petrel<|>Curlew<|>replacement<|>The Petrel took the place of the Curlew.)##
(relationship<|>Ines Pell<|>Grey Gull Line<|>leadership<|>Ines Pell leads the company.)##
(relationship<|>Ines Pell<|>Sanderling<|>order<|>She ordered the electric ferry.)##
(relationship<|>Ines Pell<|>Josiah Pell<|>family<|>She is his granddaughter.)##
""",
    "minutes of 12 September 2018": """
(entity<|>Ruth Amsel<|>person<|>Ruth Amsel is the harbour master and was in the chair.)##
(entity<|>Ines Pell<|>person<|>Ines Pell asked for a charging point for the new ferry.)##
(entity<|>Tomas Orrin<|>person<|>Dr Tomas Orrin reported on young eels in the channel.)##
(entity<|>Bram Colley<|>person<|>Bram Colley speaks for the fishermen and voted against.)##
(entity<|>Sanderling<|>work<|>The new electric ferry Sanderling was due in the spring.)##
(entity<|>Windle Bay Marine Station<|>organization<|>The Station counts the eels.)##
(relationship<|>Ines Pell<|>Sanderling<|>charging point<|>She asked for a place to charge the ship.)##
(relationship<|>Tomas Orrin<|>Windle Bay Marine Station<|>work<|>Dr Orrin speaks for the Station.)##
(relationship<|>Bram Colley<|>Sanderling<|>vote<|>He voted against the charging point.)##
""",
    "a guide for visitors": """
(entity<|>Kelsand<|>location<|>Kelsand lies on the north shore of Varrow Sound.)##
(entity<|>Varrow Sound<|>location<|>Kelsand lies on its north shore.)##
(entity<|>Merrow Point Light<|>location<|>The tower is 34 metres high and was first lit on 1 October 1871.)##
(entity<|>Windle Bay Marine Station<|>organization<|>It opens its tanks to visitors once a month.)##
(entity<|>Grey Gull Line<|>organization<|>It runs six crossings a day to Skerrin Island.)##
(entity<|>Lamp Room<|>organization<|>The Lamp Room is known for its smoked mackerel.)##
(relationship<|>Kelsand<|>Varrow Sound<|>shore<|>Kelsand lies on the north shore of the sound.)##
(relationship<|>Merrow Point Light<|>Kelsand<|>coast path<|>The light stands at the end of the coast path.)##
(relationship<|>Lamp Room<|>Merrow Point Light<|>oil store<|>The restaurant is in the light's oil store.)##
""",
    "FISHERMAN NETS LOST CAMERA": """
(entity<|>Bram Colley<|>person<|>Bram Colley hauled the camera Firefly up with his boat.)##
(entity<|>Firefly<|>work<|>The camera Firefly was lost by the Lantern Expedition three years before.)##
(entity<|>Lantern Expedition<|>event<|>The expedition of 2003 that lost the camera Firefly.)##
(entity<|>Tomas Orrin<|>person<|>Dr Tomas Orrin knew the camera at once.)##
(entity<|>Qingyu Oceanographic Institute<|>organization<|>The institute that can read the camera's memory.)##
(entity<|>Shen Yulan<|>person<|>Dr Shen Yulan waits for the camera at the institute.)##
(relationship<|>Bram Colley<|>Firefly<|>find<|>He netted the lost camera in 2006.)##
(relationship<|>Lantern Expedition<|>Firefly<|>loss<|>The expedition lost the camera.)##
(relationship<|>Tomas Orrin<|>Shen Yulan<|>sending<|>He sent her the camera.)##
(relationship<|>Shen Yulan<|>Qingyu Oceanographic Institute<|>work<|>She works at the institute.)##
""",
    "You ask whether I have lost my mind": """
(entity<|>Agnes Rook<|>person<|>Agnes Rook rented two herring sheds and founded the station.)##
(entity<|>Josiah Pell<|>person<|>Josiah Pell let her the sheds for one crown a year.)##
(entity<|>Windle Bay Marine Station<|>organization<|>At first it was a microscope, a stove and a cat.)##
(entity<|>Halden Deep<|>location<|>Fishermen see slow blue lights over the Halden Deep.)##
(entity<|>Edda Thorne<|>person<|>Edda Thorne, the keeper's daughter, rows her out.)##
(relationship<|>Agnes Rook<|>Windle Bay Marine Station<|>founder<|>She founded the station in 1957.)##
(relationship<|>Josiah Pell<|>Agnes Rook<|>rent<|>He let her the herring sheds.)##
(relationship<|>Edda Thorne<|>Agnes Rook<|>rowing<|>Edda Thorne rows her out to the lights.)##
(relationship<|>Agnes Rook<|>Halden Deep<|>search<|>She looked for the lights over the deep.)##
""",
    "Logbook of the keeper": """
(entity<|>Edda Thorne<|>person<|>The keeper of the light turned its lens by hand for eleven hours.)##
(entity<|>Merrow Point Light<|>location<|>The mains failed at the light in the storm of 14 November 1974.)##
(entity<|>Curlew<|>work<|>The ferry Curlew struck the Anvil rocks and was lost.)##
(entity<|>Hal Brandish<|>person<|>Captain Hal Brandish was the last to leave the Curlew.)##
(entity<|>Constance<|>work<|>The lifeboat Constance took forty-one people from the wreck.)##
(entity<|>Anvil rocks<|>location<|>The Curlew struck them.)##
(relationship<|>Edda Thorne<|>Merrow Point Light<|>keeper<|>She kept the light and turned its lens by hand.)##
(relationship<|>Hal Brandish<|>Curlew<|>captain<|>He commanded the ferry.)##
(relationship<|>Curlew<|>Anvil rocks<|>wreck<|>The ferry struck the rocks.)##
(relationship<|>Constance<|>Curlew<|>rescue<|>The lifeboat saved all on board.)##
""",
    "newsletter, summer 2003": """
(entity<|>Lantern Expedition<|>event<|>The expedition worked over the Halden Deep in May 2003.)##
(entity<|>Shen Yulan<|>person<|>Dr Shen Yulan led the expedition.)##
(entity<|>Tomas Orrin<|>person<|>Dr Tomas Orrin sailed along as a guest and was seasick.)##
(entity<|>Qingyu Oceanographic Institute<|>organization<|>Its ship Qingyu 2 lay in Kelsand harbour.)##
(entity<|>Halden Deep<|>location<|>At 2,140 metres the deepest water in Varrow Sound.)##
(entity<|>Firefly<|>work<|>The deep-sea camera Firefly was torn from its cable and lost.)##
(relationship<|>Shen Yulan<|>Lantern Expedition<|>leadership<|>She led it.)##
(relationship<|>Tomas Orrin<|>Lantern Expedition<|>guest<|>He sailed along.)##
(relationship<|>Lantern Expedition<|>Halden Deep<|>place<|>The ship worked over the deep.)##
(relationship<|>Qingyu Oceanographic Institute<|>Lantern Expedition<|>ship<|>Its ship carried it.)##
""",
    "青屿海洋研究所与温德尔湾海洋站合作会议纪要": """
(entity<|>沈雨岚<|>person<|>沈雨岚是青屿海洋研究所所长。)##
(entity<|>何明远<|>person<|>何明远是深海仪器室主任，正在制造新相机。)##
(entity<|>青屿海洋研究所<|>organization<|>研究所与温德尔湾海洋站合作。)##
(entity<|>温德尔湾海洋站<|>organization<|>海洋站负责海草育苗。)##
(relationship<|>沈雨岚<|>青屿海洋研究所<|>所长<|>沈雨岚是研究所所长。)##
(relationship<|>何明远<|>青屿海洋研究所<|>工作<|>何明远在研究所制造相机。)##
(relationship<|>青屿海洋研究所<|>温德尔湾海洋站<|>合作<|>双方共同恢复海草床。)##
""",
}

ANSWERS = {
    "storm": (
        ("When the mains failed, **Edda Thorne** lit the oil burner and turned the lens by hand ", "by hand"),
        ("The power came back after eleven hours ", "after eleven hours"),
        ("All forty-one people of the *Curlew* were saved ", "forty-one people are safe"),
    ),
    "founded": (
        (
            "**Josiah Pell** founded the Grey Gull Line in 1923 with one steamer ",
            "founded the Grey Gull Line",
        ),
    ),
}
"""Answers by a word of the question: sentences, each with a part of the source that it rests on."""
