/** The ids of a mail that a message answers, without angle brackets, as its sender wrote them. */
export interface AnsweredMail {
  /** Its Message-ID; null: it has none. */
  id: string | null;
  /** The ids in its In-Reply-To and References, the nearest first. */
  references: readonly string[];
}

/** Maximum number of ids in References. */
const MAX_REFERENCES = 20;
/** What can be between angle brackets without folding or encoding. Longer ids are hardly genuine. */
const ID = /^(?!.*=\?)[!-;=?-~]{1,250}$/;

const bracketed = (ids: readonly string[]) => ids.map((id) => `<${id}>`).join(' ');

/**
 * Returns the headers that put a message into the thread of the mail that it answers (RFC 5322 §3.6.4). Ids that are
 * not well-formed are left out.
 * @returns no headers if the mail has no id that can be named
 */
export function answerHeaders({ id, references }: AnsweredMail): Record<string, string> {
  if (id === null || !ID.test(id)) return {};
  const earlier = references.filter((each) => each !== id && ID.test(each)).slice(0, MAX_REFERENCES - 1);
  return { 'In-Reply-To': bracketed([id]), References: bracketed([...earlier.reverse(), id]) };
}
