"""key_format.py - key types by the tests' names: sweepsort's own (u32) or numpy's with order (>u4)."""
CODES = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q",
         "f32": "f", "f64": "d"}


def struct_format(name):
    """For the module struct: "u32" -> "<I", ">f8" -> ">d"."""
    order = "<"
    if name[0] in "<>":
        order, name = name[0], name[1] + str(8 * int(name[2:]))
    return order + CODES[name]
