import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { shareText, StatusBadge, Time } from '../../ui/details.tsx';
import { TabLinks, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { FlowActions } from './flow-actions.tsx';

export type Flow = Schemas['Flow'];

/** A report reads counters, so it costs little; still, it changes less often than the eye looks. */
const REPORT_POLL_MS = 5_000;

export function useFlow(id: number): UseQueryResult<Flow> {
  return useQuery({
    queryKey: ['flows', id],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/flows/{id}', { params: { path: { id } }, signal })),
    refetchInterval: (query) => (query.state.data?.status === 'active' ? REPORT_POLL_MS : false),
  });
}

const versionQuery = (id: number, number: number) => ({
  queryKey: ['flows', id, 'versions', 'one', number],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    call(() => api.GET('/v1/my/flows/{id}/versions/{number}', { params: { path: { id, number } }, signal })),
});

/** A version never changes, apart from the number of runs that follow it. */
export const useFlowVersion = (id: number, number: number): UseQueryResult<Schemas['FlowVersion']> =>
  useQuery(versionQuery(id, number));

/**
 * Returns the steps of versions by their numbers. A version that is not loaded yet, or was deleted, is missing.
 * @param numbers each is a request
 */
export function useStepsOfVersions(
  id: number,
  numbers: readonly number[],
): ReadonlyMap<number, Flow['steps']> {
  const results = useQueries({ queries: numbers.map((number) => versionQuery(id, number)) });
  return new Map(results.flatMap(({ data }) => (data ? [[data.number, data.steps] as const] : [])));
}

/** @param days `from` and `to`, both inclusive, in UTC; by default all days */
export function useFlowReport(
  { id, status }: Pick<Flow, 'id' | 'status'>,
  days: { from?: string; to?: string } = {},
): UseQueryResult<Schemas['FlowReport']> {
  return useQuery({
    queryKey: ['flows', id, 'report', days],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/flows/{id}/report', { params: { path: { id }, query: days }, signal })),
    refetchInterval: status === 'active' || status === 'paused' ? REPORT_POLL_MS : false,
  });
}

const STOP_TEXTS: Record<NonNullable<Flow['stop']>['reason'], string> = {
  bounce_rate: 'Too many of its addresses do not exist. Look at its messages before you resume it.',
  complaint_rate: 'Too many recipients reported it as spam. Look at who enters before you resume it.',
  rejected: 'An operator rejected it.',
};

/** What all pages of one flow have in common: its name, its state, what can be done, and the way to the others. */
export function FlowFrame({ children }: { children: (flow: Flow) => ReactNode }) {
  const id = useId('flowId');
  return (
    <QueryView query={useFlow(id)}>
      {(flow) => (
        <>
          <PageHeader title={flow.name} actions={<FlowActions flow={flow} />}>
            <div className="actions">
              <StatusBadge status={flow.status} />
              {flow.approval_state !== 'not_required' && (
                <span className="muted">approval: {flow.approval_state.replaceAll('_', ' ')}</span>
              )}
              <span className="muted">flow {id}</span>
            </div>
          </PageHeader>
          <FlowState flow={flow} />
          <TabLinks
            label="Flow"
            tabs={[
              { to: `/flows/${id}`, text: 'Steps' },
              { to: `/flows/${id}/report`, text: 'Report' },
              { to: `/flows/${id}/runs`, text: 'Runs' },
              { to: `/flows/${id}/versions`, text: 'Versions' },
            ]}
          />
          {children(flow)}
        </>
      )}
    </QueryView>
  );
}

function FlowState({ flow: { stop, status, approval_state: approval } }: { flow: Flow }) {
  return (
    <>
      {stop && status === 'paused' && (
        <Notice tone="bad" title={`Paused by the service: ${stop.reason.replaceAll('_', ' ')}`}>
          <p>{STOP_TEXTS[stop.reason]}</p>
          {stop.rate !== null && stop.threshold !== null && (
            <p>
              {shareText(stop.rate, 1)} of its emails; {shareText(stop.threshold, 1)} are allowed.
            </p>
          )}
          <p className="muted">
            <Time at={stop.at} />
          </p>
        </Notice>
      )}
      {status === 'active' && (approval === 'pending' || approval === 'rejected') && (
        <Notice tone="busy" title="Waiting for approval">
          <p>An operator has to approve it before contacts enter.</p>
        </Notice>
      )}
    </>
  );
}
