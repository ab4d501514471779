"""Knowledge bases of every format, stored for later, and the program that stores the present one."""
