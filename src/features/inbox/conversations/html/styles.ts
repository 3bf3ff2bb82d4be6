/** The CSS that stays in `style` attributes: properties, and the forms of their values. */

// Repetitions are bounded or unambiguous, so that no value makes a search slow.
const GAP = '(?:\\s{0,3}[,/]\\s{0,3}|\\s{1,3})';
const PART = '[0-9.]{1,8}(?:%|deg)?';
const COLOR = `(?:#[0-9a-f]{3,8}|[a-z]{3,24}|(?:rgb|hsl)a?\\(\\s{0,3}${PART}(?:${GAP}${PART}){2,3}\\s{0,3}\\))`;
/** Never negative, so that nothing moves over what surrounds the mail. */
const LENGTH = '(?:[0-9]{1,4}(?:\\.[0-9]{1,4})?|\\.[0-9]{1,4})(?:px|em|rem|ex|ch|%|pt|pc|in|cm|mm)?';
const LINE = '(?:none|solid|dashed|dotted|double|groove|ridge|inset|outset|hidden)';
const WIDTH = `(?:${LENGTH}|thin|medium|thick)`;

const whole = (pattern: string) => [new RegExp(`^${pattern}$`, 'i')];
const oneOf = (...words: string[]) => whole(`(?:${words.join('|')})`);
const upTo = (count: number, pattern: string) => whole(`${pattern}(?:\\s+${pattern}){0,${count - 1}}`);

const color = whole(COLOR);
const length = whole(LENGTH);
const sizes = whole(`(?:${LENGTH}|auto|none|normal)`);
const spaces = upTo(4, `(?:${LENGTH}|auto)`);
const border = upTo(3, `(?:${WIDTH}|${LINE}|${COLOR})`);
const SIDES = ['top', 'right', 'bottom', 'left'];

function ofSides<Value>(name: string, ending: string, value: Value): [string, Value][] {
  return SIDES.map((side) => [`${name}-${side}${ending}`, value]);
}

/**
 * Values by property, for sanitize-html. Nothing here can fetch an address (`url()`, `image-set()`), refer to other
 * declarations (`var()`), or leave the place of the element (`position`, negative margins).
 */
export const allowedStyles: Record<string, RegExp[]> = {
  color,
  background: color,
  'background-color': color,
  'font-family': whole(`[a-z0-9 ,'"_-]{1,300}`),
  'font-size': whole(`(?:${LENGTH}|(?:x{1,3}-)?(?:small|large)|medium|smaller|larger)`),
  'font-style': oneOf('normal', 'italic', 'oblique'),
  'font-variant': oneOf('normal', 'small-caps'),
  'font-weight': oneOf('normal', 'bold', 'bolder', 'lighter', '[1-9]00'),
  'line-height': sizes,
  'letter-spacing': sizes,
  'word-spacing': sizes,
  'text-align': oneOf('left', 'right', 'center', 'justify', 'start', 'end'),
  'text-decoration': upTo(3, `(?:none|underline|line-through|overline|solid|dotted|dashed|${COLOR})`),
  'text-indent': length,
  'text-transform': oneOf('none', 'uppercase', 'lowercase', 'capitalize'),
  'vertical-align': whole(`(?:${LENGTH}|baseline|top|middle|bottom|sub|super|text-top|text-bottom)`),
  'white-space': oneOf('normal', 'nowrap', 'pre', 'pre-wrap', 'pre-line'),
  'word-break': oneOf('normal', 'break-all', 'break-word', 'keep-all'),
  'word-wrap': oneOf('normal', 'break-word'),
  'overflow-wrap': oneOf('normal', 'break-word', 'anywhere'),
  direction: oneOf('ltr', 'rtl'),
  display: oneOf('none', 'block', 'inline', 'inline-block', 'list-item', 'table(?:-row|-cell)?'),
  float: oneOf('none', 'left', 'right'),
  clear: oneOf('none', 'left', 'right', 'both'),
  width: sizes,
  'min-width': sizes,
  'max-width': sizes,
  height: sizes,
  'min-height': sizes,
  'max-height': sizes,
  padding: spaces,
  margin: spaces,
  border,
  'border-width': upTo(4, WIDTH),
  'border-style': upTo(4, LINE),
  'border-color': upTo(4, COLOR),
  'border-radius': upTo(4, LENGTH),
  'border-collapse': oneOf('collapse', 'separate'),
  'border-spacing': upTo(2, LENGTH),
  'table-layout': oneOf('auto', 'fixed'),
  'list-style-type': oneOf(
    'none',
    'disc',
    'circle',
    'square',
    'decimal',
    '(?:lower|upper)-(?:alpha|roman|latin)',
  ),
  ...Object.fromEntries([
    ...ofSides('padding', '', sizes),
    ...ofSides('margin', '', sizes),
    ...ofSides('border', '', border),
    ...ofSides('border', '-width', whole(WIDTH)),
    ...ofSides('border', '-style', whole(LINE)),
    ...ofSides('border', '-color', color),
  ]),
};
