/** The meaning of a keyword in a reply. */
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

/** Maximum number of characters of a keyword. Longer texts are sentences. */
const MAX_CHARACTERS = 40;

/** Returns the text in upper case, without spaces and punctuation, so that `Stop all!` becomes STOPALL. */
function wordOf(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/**
 * Reads the keyword of an SMS that consists of nothing else. A sentence that contains a keyword does not count.
 * @param stopWords further words that mean STOP, separated by commas
 */
export function readKeyword(text: string, stopWords: string | null): SmsKeyword | null {
  if (text.length > MAX_CHARACTERS) return null;
  const word = wordOf(text);
  if (word === '') return null;
  const isStop = stopWords !== null && stopWords.split(',').some((each) => wordOf(each) === word);
  return isStop ? 'stop' : (byWord.get(word) ?? null);
}
