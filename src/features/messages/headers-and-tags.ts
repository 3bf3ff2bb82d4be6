import { systemTags } from '../../delivery/terms/message.ts';
import { isReservedHeader } from '../../delivery/content/mime/reserved-headers.ts';
import type { ValidationErrors } from '../../errors.ts';

const reservedTags = new Set<string>(systemTags);
const RESERVED_TAG_PREFIX = 'carillon';

/** RFC 5322 §2.2: printable ASCII except the colon. 76 characters fit on one line with the colon. */
const headerName = /^[\x21-\x39\x3b-\x7e]{1,76}$/;
const control = /[\p{Cc}\u2028\u2029]/u;

/** Reports headers that only Carillon, mail servers and providers use, such as From and X-SMTPAPI. */
export function reservedHeaderErrors(headers: Record<string, string>): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const name of Object.keys(headers)) {
    if (isReservedHeader(name)) errors[`headers.${name}`] = ['is reserved'];
  }
  return errors;
}

/** Reports invalid header names, values that would start another header, and duplicate names. */
export function malformedHeaderErrors(headers: Record<string, string>): ValidationErrors {
  const errors: ValidationErrors = {};
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const path = `headers.${name}`;
    if (!headerName.test(name)) errors[path] = ['is not a header name'];
    else if (control.test(value)) errors[path] = ['must not contain line breaks or control characters'];
    else if (seen.has(name.toLowerCase())) errors[path] = ['is given twice'];
    seen.add(name.toLowerCase());
  }
  return errors;
}

/** Reports tags whose names Carillon uses itself. */
export function reservedTagErrors(tags: Record<string, string>): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const key of Object.keys(tags)) {
    const lower = key.toLowerCase();
    if (reservedTags.has(lower) || lower.startsWith(RESERVED_TAG_PREFIX))
      errors[`tags.${key}`] = ['is reserved'];
  }
  return errors;
}

/** Reports tags with line breaks or control characters. */
export function malformedTagErrors(tags: Record<string, string>): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const [key, value] of Object.entries(tags)) {
    if (control.test(key) || control.test(value)) {
      errors[`tags.${key}`] = ['must not contain line breaks or control characters'];
    }
  }
  return errors;
}
