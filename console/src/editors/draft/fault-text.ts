import { ApiError, messageOf } from '../../api/errors.ts';

const TOO_LARGE = 413;
const MB = 1_000_000;

/** Says why a content was not saved, and what to do if it is too large. */
export function faultText(error: unknown, content: object): string {
  if (!(error instanceof ApiError && error.status === TOO_LARGE)) return messageOf(error);
  const bytes = new TextEncoder().encode(JSON.stringify(content)).length;
  return `The content is too large to save (${(bytes / MB).toFixed(1)} MB). Shorten it, for example its longest text.`;
}
