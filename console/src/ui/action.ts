import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { ApiError, messageOf } from '../api/errors.ts';
import { useStillShown } from './still-shown.ts';
import { toast } from './toasts.tsx';

export interface Action<Input, Output> {
  run: (input: Input) => void;
  busy: boolean;
  /** What the API says of a field, by its path, such as `user.email`; for `Field`. */
  errorOf: (path: string) => readonly string[];
  /** The same of all fields. */
  errors: Readonly<Record<string, readonly string[]>>;
  /** What is wrong apart from the fields in `fields`; null if nothing is. */
  fault: string | null;
  result: Output | undefined;
  reset: () => void;
}

const faultsOf = (error: unknown) => (error instanceof ApiError ? error.fields : {});

/** Whether the form shows errors of the field: `to.*` stands for all fields below `to`. */
const isShown = (path: string, shown: readonly string[]) =>
  shown.some((name) => (name.endsWith('.*') ? path.startsWith(name.slice(0, -1)) : path === name));

/** @returns what is wrong apart from the fields in `shown`; null if nothing is */
function faultOf(error: unknown, shown: readonly string[]): string | null {
  if (error === null) return null;
  const faults = Object.entries(faultsOf(error));
  if (faults.length === 0) return messageOf(error);
  const others = faults.filter(([path]) => !isShown(path, shown));
  return others.length === 0 ? null : others.map(([path, texts]) => `${path}: ${texts.join(' ')}`).join('\n');
}

/** A file has no JSON; another one with these is the same. */
const fileAsFacts = (_: string, value: unknown): unknown =>
  value instanceof File ? [value.name, value.size, value.lastModified] : value;

/**
 * Returns the Idempotency-Key of an action: the same for the same input until it has succeeded, so that a retry after a
 * lost response does nothing twice; then a new one, because the user means it once more.
 */
function useActionKey() {
  const last = useRef<{ input: string; key: string } | null>(null);
  return {
    of(input: unknown): string {
      const text = JSON.stringify(input, fileAsFacts) ?? '';
      if (last.current?.input !== text) last.current = { input: text, key: crypto.randomUUID() };
      return last.current.key;
    },
    renew() {
      last.current = null;
    },
  };
}

/**
 * Something the user does: sends a request, says how it went, and reloads what it may have changed. Faults of named
 * fields are for the fields; everything else is in `fault`, and in a toast if there is no form, or no longer.
 * @param options.work the request, with its Idempotency-Key for where the API takes one
 * @param options.done what to say on success
 * @param options.refresh the first parts of the query keys to reload; by default all of the brand
 * @param options.fields the paths of the fields that the form shows errors at, `to.*` for all below `to`; a page without
 *   a form leaves it out
 */
export function useAction<Input = void, Output = unknown>(options: {
  work: (input: Input, key: string) => Promise<Output>;
  done?: string | ((output: Output, input: Input) => string);
  refresh?: readonly string[];
  fields?: readonly string[];
  /** What the browser keeps of the form until it is sent. */
  kept?: { done: () => void };
  onDone?: (output: Output, input: Input) => void;
}): Action<Input, Output> {
  const queryClient = useQueryClient();
  const isStillShown = useStillShown();
  const key = useActionKey();
  const { work, done, refresh, fields, kept, onDone } = options;
  const reload = (): Promise<unknown> =>
    refresh
      ? Promise.all(refresh.map((name) => queryClient.invalidateQueries({ queryKey: [name] })))
      : queryClient.invalidateQueries();
  const mutation = useMutation({
    mutationFn: (input: Input) => work(input, key.of(input)),
    async onSuccess(output, input) {
      key.renew();
      if (done !== undefined) toast(typeof done === 'string' ? done : done(output, input));
      kept?.done();
      onDone?.(output, input);
      await reload();
    },
    onError(error) {
      // The page shows a former revision, with which the same would be refused again.
      if (error instanceof ApiError && error.code === 'precondition_failed') void reload();
      // A form that is closed while it sends cannot show what is wrong.
      const isSaid = fields !== undefined && isStillShown();
      if (!isSaid) toast(faultOf(error, []) ?? messageOf(error), { tone: 'bad' });
    },
  });
  return {
    run: (input) => mutation.mutate(input),
    busy: mutation.isPending,
    errors: faultsOf(mutation.error),
    errorOf: (path) => faultsOf(mutation.error)[path] ?? [],
    fault: faultOf(mutation.error, fields ?? []),
    result: mutation.data,
    reset: mutation.reset,
  };
}
