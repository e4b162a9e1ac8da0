-- Quarto's filter: a computed number shows what this build computed.
--
-- The values are in .quarto/book-values.json, which prerender.py writes: by chapter, in
-- reading order, [expression, typed, value]. Where a number has no value there, what the
-- chapter says stays.

local PATH = ".quarto/book-values.json"

local function read(path)
  local root = os.getenv("QUARTO_PROJECT_DIR")
  local file = io.open(root and (root .. "/" .. path) or path, "r")
  if not file then
    return {}
  end
  local text = file:read("a")
  file:close()
  return pandoc.json.decode(text, false)
end

-- A backslash, which an attribute may need before a quote, makes no other expression.
local function key(expression)
  return (expression:gsub("\\(.)", "%1"))
end

-- The chapter that is rendered, by its path in the project; nil where there are several.
local function chapter()
  if not (quarto and quarto.doc and quarto.doc.input_file) then
    return os.getenv("BOOK_CHAPTER")
  end
  local input = quarto.doc.input_file:gsub("\\", "/")
  local root = (os.getenv("QUARTO_PROJECT_DIR") or ""):gsub("\\", "/")
  if root ~= "" and input:sub(1, #root + 1) == root .. "/" then
    return input:sub(#root + 2)
  end
  return input
end

-- For each expression what it printed, in the order in which it stands.
local waiting = {}

local function load_values()
  local all, own = read(PATH), chapter()
  local alone = false
  for _, entry in ipairs(all) do
    alone = alone or entry[1] == own
  end
  for _, entry in ipairs(all) do
    if not alone or entry[1] == own then
      for _, number in ipairs(entry[2]) do
        local name = key(number[1])
        waiting[name] = waiting[name] or {}
        table.insert(waiting[name], { typed = number[2], value = number[3] })
      end
    end
  end
end

-- The value of a number: the next that has this text. The last stays, as captions may repeat.
local function value(expression, typed)
  local values = waiting[key(expression)] or {}
  local place = 1
  for i = #values, 1, -1 do
    place = values[i].typed == typed and i or place
  end
  local found = values[place]
  if #values > 1 then
    table.remove(values, place)
  end
  return found and found.value or typed
end

local function span(element)
  if not element.classes:includes("computed") or not element.attributes.expr then
    return nil
  end
  local typed = pandoc.utils.stringify(element)
  local found = value(element.attributes.expr, typed)
  if found ~= typed then
    local read_as = pandoc.read(found, "markdown").blocks[1]
    element.content = read_as and read_as.content or pandoc.Inlines(found)
  end
  return element
end

-- In an alternative text a number is just its value.
local function plain(text)
  local done, from = "", 1
  while true do
    local first, last, typed = text:find('%[([^%]\n]*)%]{%.computed%s+expr=\\?"', from)
    local close, stop = text:find('"%s*}', last and last + 1)
    if not first or not close then
      return done .. text:sub(from)
    end
    local expression = text:sub(last + 1, close - 1):gsub('"%s+tolerance="[^"]*$', "")
    done = done .. text:sub(from, first - 1) .. value(expression, typed)
    from = stop + 1
  end
end

local function attributes(element)
  for _, name in ipairs({ "fig-alt", "alt" }) do
    if element.attributes[name] then
      element.attributes[name] = plain(element.attributes[name])
    end
  end
  return element
end

load_values()

return {
  {
    traverse = "topdown",
    Span = span,
    Image = attributes,
    Div = attributes,
    Figure = attributes,
  },
}
