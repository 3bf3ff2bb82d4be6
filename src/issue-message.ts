import type { z } from 'zod';

/** How each expected type is called; the sentence is `<field> must be <name>`. */
const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  date: 'a date-time',
  null: 'null',
};

const formats: Record<string, string> = {
  email: 'must be an email address',
  url: 'must be a URL',
  uuid: 'must be a UUID',
  datetime: 'must be an ISO 8601 date-time',
  date: 'must be an ISO 8601 date',
  e164: 'must be a phone number in E.164 format',
  json_string: 'must be JSON text',
  base64: 'must be base64',
};

const units: Record<string, string> = { string: ' characters', array: ' items', set: ' items' };

function size(issue: { origin: string }, bound: string, limit: unknown): string {
  const unit = units[issue.origin];
  return unit ? `must have ${bound} ${String(limit)}${unit}` : `must be ${bound} ${String(limit)}`;
}

function tooSmall(issue: z.core.$ZodRawIssue & { code: 'too_small' }): string {
  if (units[issue.origin] && issue.minimum === 1) return 'must not be empty';
  if (issue.inclusive === false) return `must be more than ${String(issue.minimum)}`;
  return size(issue, 'at least', issue.minimum);
}

function wrongType(issue: z.core.$ZodRawIssue & { code: 'invalid_type' }): string {
  if (issue.input === undefined) return 'is required';
  return `must be ${typeNames[issue.expected] ?? issue.expected}`;
}

/**
 * Say what is wrong in words that follow the field's name, for every schema that has no words of its own.
 * Given to zod with each parse.
 */
export function issueMessage(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue);
    case 'too_big':
      return size(issue, 'at most', issue.maximum);
    case 'too_small':
      return tooSmall(issue);
    case 'invalid_format':
      if (issue.format === 'regex') return `must match ${String(issue.pattern)}`;
      return formats[String(issue.format)] ?? `must be a valid ${String(issue.format)}`;
    case 'invalid_value':
      if (issue.input === undefined) return 'is required';
      return `must be one of ${(issue.values as unknown[]).map(String).join(', ')}`;
    case 'not_multiple_of':
      return `must be a multiple of ${String(issue.divisor)}`;
    case 'invalid_union':
      return issue.input === undefined ? 'is required' : 'has none of the forms it may have';
    case 'invalid_key':
      return 'has a name that is not allowed';
    default:
      return 'is invalid';
  }
}
