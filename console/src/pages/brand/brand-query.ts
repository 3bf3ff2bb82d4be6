import { queryOptions } from '@tanstack/react-query';
import { api, callWithTag } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';

/** The brand with its `ETag`. While a website is read, it is asked for again. */
export const brandQuery = queryOptions({
  queryKey: ['brands', 'current'],
  queryFn: ({ signal }) => callWithTag(() => api.GET('/v1/my/brand', { signal })),
  refetchInterval: ({ state }) => (state.data?.data?.scrape?.status === 'scraping' ? POLL_MS : false),
});
