/** Checks a content while it is written: what a send would refuse, and what could be better. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { type ContentEditorProps, type Design, type FieldErrors, sentPart } from './content.ts';
import { problemText } from './problem-words.ts';

export interface Problem {
  field: string;
  /** A sentence that names the section or field. */
  text: string;
  /** Whether a send is refused. */
  isError: boolean;
}

const MAX_NAMES = 200;

export type Unsaved = Schemas['UnsavedContent'] & { variables: Record<string, unknown> };

/** The content as the routes for contents that are not saved take it. */
export function unsavedOf({
  value,
  channel,
  footer,
  names = [],
}: Pick<ContentEditorProps, 'value' | 'channel' | 'footer' | 'names'>): Unsaved {
  const part = sentPart(value);
  const samples = Object.fromEntries(names.map((name) => [name, name.split('.').at(-1)]));
  const given = Object.entries(value.variables ?? {}).filter(([, sample]) => sample !== null);
  return {
    channel,
    footer,
    subject: value.subject ?? null,
    preheader: value.preheader ?? null,
    body: part === 'body' ? (value.body ?? null) : null,
    design: part === 'design' ? (value.design ?? null) : null,
    variables: Object.fromEntries([...Object.entries(samples), ...given].slice(-MAX_NAMES)),
  };
}

const problemsOf = (fields: FieldErrors) =>
  Object.entries(fields).flatMap(([field, messages]) =>
    messages.map((message) => ({ field, message, code: undefined, isError: true })),
  );

/**
 * Checks a content whenever it has settled.
 * @param given what the API refused when it was saved
 */
export function useChecked(unsaved: Unsaved, given: FieldErrors): Problem[] {
  const { data, error } = useQuery({
    queryKey: ['content-check', unsaved],
    queryFn: ({ signal }) => call(() => api.POST('/v1/my/templates/check', { body: unsaved, signal })),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
  });
  const refused = error instanceof ApiError ? error.fields : (data?.errors ?? {});
  const warnings = error ? [] : (data?.warnings ?? []);
  const all = [
    ...problemsOf(given),
    ...problemsOf(refused),
    ...warnings.map((warning) => ({ ...warning, isError: false })),
  ];
  // The API takes the editor's own design.
  const design = unsaved.design as Design | null;
  const byText = new Map(all.map((each) => [`${each.field} ${each.message}`, each] as const));
  return [...byText.values()].map(({ field, code, message, isError }) => ({
    field,
    isError,
    text: problemText({ field, code, message }, design),
  }));
}

/** Whether a field is this one, or is below it. */
export const isAt = (field: string, path: string): boolean => field === path || field.startsWith(`${path}.`);

export const messagesAt = (problems: readonly Problem[], path: string): string[] =>
  problems.filter(({ field }) => field === path).map(({ text }) => text);
