/** Generates text that is known to break mail software. The seed makes a failure reproducible. */
export interface Random {
  /** An integer from 0 to `below` - 1. */
  integer(below: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
  const integer = (below: number): number => Math.floor(next() * below);
  return {
    integer,
    pick<T>(choices: readonly T[]): T {
      const choice = choices[integer(choices.length)];
      if (choice === undefined) throw new Error('nothing to pick from');
      return choice;
    },
  };
}

const words = [
  'order',
  'a',
  '1234',
  'Größe',
  'naïve',
  'Ελληνικά',
  'Привет',
  'שלום',
  'مرحبا',
  'नमस्ते',
  'สวัสดี',
  '漢字仮名交じり文',
  '안녕하세요',
  'é̂́'.normalize('NFD'),
  `z${'\u0301\u0323\u0489'.repeat(20)}`,
  '👩‍👩‍👧‍👦',
  '🏴󠁧󠁢󠁳󠁣󠁴󠁿',
  '🇺🇦🇯🇵',
  '👍🏽',
  '𝕌𝕟𝕚',
  '=?utf-8?Q?no?=',
  '=?',
  '?=',
  '=3D',
  '"quoted"',
  'back\\slash',
  'comma,',
  '<tag>',
  '(paren)',
  'a@b.c',
  "it's",
  '_under_',
  '\u202eright\u202c',
  '\u00a0',
  '\u2028',
  '…',
  'https://example.org/?q=1&r=2',
  'Donaudampfschifffahrtsgesellschaft'.repeat(3),
  'w'.repeat(120),
  '長い'.repeat(80),
];
/** Not in header text, because the parser that checks the messages trims or drops them there. */
const bodyWords = [
  ...words,
  'mar\ufeffk',
  '.',
  '..',
  '.dot',
  'From me',
  '>From',
  '--',
  '-- ',
  '\0',
  '\ud800',
  '\udc00x',
  '\t',
  '\x07',
  '\x7f',
];
const lineEnds = ['\n', '\r\n', '\r', '\n\n', ' \n', '\t\r\n', '   \n\n\n'];

/** One line without line breaks, at most 998 characters. */
export function randomLine(random: Random): string {
  const parts = Array.from({ length: random.integer(9) }, () => random.pick(words));
  return parts.join(random.pick([' ', ' ', ' ', '  ', ''])).slice(0, 998);
}

/** Some lines of any text, each of up to about 5,000 characters. */
export function randomBody(random: Random): string {
  let text = '';
  for (let line = random.integer(8); line > 0; line -= 1) {
    const parts = Array.from({ length: random.integer(12) }, () => random.pick(bodyWords));
    text += parts.join(random.pick([' ', ' ', '', '  '])) + random.pick(lineEnds);
  }
  return random.integer(12) === 0 ? text + random.pick(['x', 'ж', 'From ', '.', ' ']).repeat(5_000) : text;
}
