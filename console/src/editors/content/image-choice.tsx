import { useInfiniteQuery } from '@tanstack/react-query';
import { api, callPage } from '../../api/client.ts';
import { ownPath } from '../../api/uploads.ts';
import { Button } from '../../ui/button.tsx';
import { QueryView } from '../../ui/query-view.tsx';

const PAGE = 50;

/** The images of the brand, newest first, to choose one. @param onChoose takes its URL */
export function ImageChoice({ onChoose }: { onChoose: (url: string) => void }) {
  const query = useInfiniteQuery({
    queryKey: ['uploads', 'images'],
    initialPageParam: null as number | null,
    queryFn: ({ pageParam: after, signal }) =>
      callPage(() =>
        api.GET('/v1/my/uploads', {
          params: { query: { images: 'true', limit: PAGE, ...(after === null ? {} : { after }) } },
          signal,
        }),
      ),
    getNextPageParam: ({ after }) => (after === null ? null : Number(after)),
  });
  return (
    <QueryView query={query}>
      {({ pages }) => {
        const files = pages.flatMap(({ rows }) => rows);
        if (files.length === 0) return <p className="muted">No images yet. Upload one.</p>;
        return (
          <>
            <ul className="image-choice">
              {files.map(({ id, url, filename }) => (
                <li key={id}>
                  <button type="button" onClick={() => onChoose(url)}>
                    <img src={ownPath(url) ?? undefined} alt="" loading="lazy" />
                    <span>{filename}</span>
                  </button>
                </li>
              ))}
            </ul>
            {query.hasNextPage && (
              <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
                Show older ones
              </Button>
            )}
          </>
        );
      }}
    </QueryView>
  );
}
