import { queryOptions } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';

export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: ({ signal }) => call(() => api.GET('/v1/my/account', { signal })),
});
