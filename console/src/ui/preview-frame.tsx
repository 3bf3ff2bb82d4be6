import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../api/client.ts';
import type { operations } from '../api/schema.d.ts';
import { QueryView } from './query-view.tsx';

/** What is shown: a message, a template, a letter of a campaign or flow, or contents that are not saved. */
export type PreviewOf = operations['createPreview']['requestBody']['content']['application/json'];

/**
 * The HTML of a letter in a frame without scripts and of no origin. The signed URL lasts a minute, so it is asked for
 * when the frame is drawn. Opening it records nothing.
 */
export function PreviewFrame({ of, title, height = 640 }: { of: PreviewOf; title: string; height?: number }) {
  const query = useQuery({
    queryKey: ['preview', of],
    queryFn: () => call(() => api.POST('/v1/my/previews', { body: of })),
    // An editor shows the last page until the next one is there.
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return (
    <QueryView query={query}>
      {({ url }) => (
        <iframe
          className="preview"
          title={title}
          src={new URL(url).pathname}
          sandbox=""
          height={height}
          referrerPolicy="no-referrer"
        />
      )}
    </QueryView>
  );
}
