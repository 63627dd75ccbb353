file(SIZE "${FILE}" bytes)
message("${bytes}")
