import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ApiError, messageOf } from '../api/errors.ts';
import { toast } from './toasts.tsx';

export interface Action<Input, Output> {
  run: (input: Input) => void;
  busy: boolean;
  /** What the API says of a field, by its path, such as `user.email`; for `Field`. */
  errorOf: (path: string) => readonly string[];
  /** What is wrong apart from the fields in `fields`; null if nothing is. */
  fault: string | null;
  result: Output | undefined;
  reset: () => void;
}

/**
 * Something the user does: sends a request, says how it went, and reloads what it may have changed. Faults of named
 * fields are for the fields; everything else is in `fault`, and in a toast if the page has no form.
 * @param options.work the request
 * @param options.done what to say on success
 * @param options.refresh the first parts of the query keys to reload; by default all of the brand
 * @param options.fields the paths of the fields that the form shows errors at; a page without a form leaves it out
 */
export function useAction<Input = void, Output = unknown>(options: {
  work: (input: Input) => Promise<Output>;
  done?: string | ((output: Output, input: Input) => string);
  refresh?: readonly string[];
  fields?: readonly string[];
  onDone?: (output: Output, input: Input) => void;
}): Action<Input, Output> {
  const queryClient = useQueryClient();
  const { work, done, refresh, fields, onDone } = options;
  const mutation = useMutation({
    mutationFn: work,
    async onSuccess(output, input) {
      if (done !== undefined) toast(typeof done === 'string' ? done : done(output, input));
      onDone?.(output, input);
      await (refresh
        ? Promise.all(refresh.map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
        : queryClient.invalidateQueries());
    },
    onError(error) {
      if (fields === undefined) toast(messageOf(error), { tone: 'bad' });
    },
  });
  const faults = mutation.error instanceof ApiError ? mutation.error.fields : {};
  const unnamed = Object.entries(faults).filter(([path]) => fields?.includes(path) !== true);
  const faultText = () => {
    if (!mutation.error) return null;
    if (Object.keys(faults).length === 0) return messageOf(mutation.error);
    return unnamed.length === 0
      ? null
      : unnamed.map(([path, texts]) => `${path}: ${texts.join(' ')}`).join('\n');
  };
  return {
    run: (input) => mutation.mutate(input),
    busy: mutation.isPending,
    errorOf: (path) => faults[path] ?? [],
    fault: faultText(),
    result: mutation.data,
    reset: mutation.reset,
  };
}
