import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { messageOf } from '../api/errors.ts';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

/** Shows what a query has loaded. Until then, shows that it is loading, or why it cannot load. */
export function QueryView<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data>;
  children: (data: Data) => ReactNode;
}) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error) {
    return (
      <Notice tone="bad" title="This could not be loaded">
        <p>{messageOf(query.error)}</p>
        <Button onClick={() => void query.refetch()}>Try again</Button>
      </Notice>
    );
  }
  return <Loading />;
}

export const Loading = () => (
  <div className="loading" role="status">
    Loading…
  </div>
);
