/** The creation of a segment, which selects contacts from then on. */
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import type { SegmentContent } from './read-draft.ts';

export function useCreateSegment({
  done,
  onDone,
}: {
  done: string;
  onDone: (segment: Schemas['Segment']) => void;
}) {
  return useAction({
    work: ({ name, filters }: SegmentContent, key) =>
      call(() =>
        api.POST('/v1/my/segments', {
          params: { header: { 'Idempotency-Key': key } },
          body: { name, filters: [...filters] },
        }),
      ),
    done,
    refresh: ['segments'],
    fields: ['name'],
    onDone,
  });
}
