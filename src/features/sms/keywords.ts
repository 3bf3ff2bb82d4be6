/** What a recipient asks for by replying with a keyword. */
export type SmsKeyword = 'stop' | 'start' | 'help';

/**
 * The words of the CTIA's messaging principles, and those that Twilio acts on as well: REVOKE, OPTOUT, YES.
 * https://www.twilio.com/docs/messaging/tutorials/advanced-opt-out
 */
const keywords: Readonly<Record<SmsKeyword, readonly string[]>> = {
  stop: ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT'],
  start: ['START', 'UNSTOP', 'YES'],
  help: ['HELP', 'INFO'],
};

const byWord = new Map(
  Object.entries(keywords).flatMap(([keyword, words]) =>
    words.map((word): [string, SmsKeyword] => [word, keyword as SmsKeyword]),
  ),
);

/** Longer texts are sentences. */
const MAX_CHARACTERS = 40;

/** Upper case, without spaces and punctuation, so that `Stop all!` is STOPALL. */
function wordOf(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Reads the keyword that an SMS consists of. A sentence that contains a keyword is none.
 * @param stopWords further words that mean STOP, separated by commas
 */
export function readKeyword(text: string, stopWords: string | null): SmsKeyword | null {
  if (text.length > MAX_CHARACTERS) return null;
  const word = wordOf(text);
  if (word === '') return null;
  const isStop = stopWords !== null && stopWords.split(',').some((each) => wordOf(each) === word);
  return isStop ? 'stop' : (byWord.get(word) ?? null);
}
