import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { CodeBlock, JsonBlock } from '../../ui/code.tsx';
import { Card, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { answerOf, pollOf, type Attempt } from './deliveries.ts';
import { RetryButton } from './retry-button.tsx';

/** One event for one webhook: each attempt with its answer, and when the next one is. */
export function DeliveryPage() {
  const webhookId = useId('webhookId');
  const id = useId('deliveryId');
  const webhook = useQuery({
    queryKey: ['webhooks', webhookId],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/webhooks/{id}', { params: { path: { id: webhookId } }, signal })),
  });
  const query = useQuery({
    queryKey: ['deliveries', webhookId, id],
    queryFn: ({ signal }) =>
      call(() =>
        api.GET('/v1/my/webhooks/{id}/deliveries/{delivery_id}', {
          params: { path: { id: webhookId, delivery_id: id } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => (state.data ? pollOf(state.data) : false),
  });
  return (
    <QueryView query={query}>
      {(delivery) => (
        <>
          <PageHeader
            title={delivery.type}
            actions={
              <RetryButton delivery={delivery} enabled={webhook.data?.enabled === true} kind="primary" />
            }
          >
            <p className="actions">
              <StatusBadge status={delivery.status} />
              {delivery.test && <StatusBadge status="test" />}
              <span>
                to <BrandLink to={`/webhooks/${webhookId}`}>{webhook.data?.url ?? 'the webhook'}</BrandLink>
              </span>
            </p>
          </PageHeader>
          <Card title="About">
            <DetailList
              items={[
                ['webhook-id', <code key="id">{delivery.event_id}</code>],
                ['Created', <Time key="created" at={delivery.created_at} full />],
                ['Attempts', delivery.attempt_count],
                ['Next attempt', <Time key="next" at={delivery.next_attempt_at} full />],
                ['Last error', delivery.last_error],
              ]}
            />
          </Card>
          <Card title="Attempts">
            <ol className="attempts">
              {delivery.status === 'pending' && (
                <li className="muted">The first attempt follows within seconds.</li>
              )}
              {delivery.next_attempt_at !== null && (
                <li>
                  The next attempt is due <Time at={delivery.next_attempt_at} />.
                </li>
              )}
              {delivery.attempts.toReversed().map((attempt) => (
                <li key={attempt.number}>
                  <AttemptView attempt={attempt} />
                </li>
              ))}
            </ol>
          </Card>
          <Card title="Request body">
            <RequestBody text={delivery.request_body} />
          </Card>
        </>
      )}
    </QueryView>
  );
}

/** Each attempt sends the same bytes; here they are indented. */
function RequestBody({ text }: { text: string | null }) {
  if (text === null) return <p className="muted">The event is no longer kept.</p>;
  const event: unknown = JSON.parse(text);
  return <JsonBlock value={event} />;
}

function AttemptView({ attempt }: { attempt: Attempt }) {
  const { number, started_at: at, duration_ms: duration, error, response_body: body } = attempt;
  const failed = error !== null;
  return (
    <article className="attempt">
      <h3>
        Attempt {number}
        <StatusBadge status={failed ? 'failed' : 'delivered'} />
        <strong>{answerOf(attempt)}</strong>
        <span className="muted">
          <Time at={at} full />, {duration} ms
        </span>
      </h3>
      {failed && error !== answerOf(attempt) && <p>{error}</p>}
      {body !== null && body !== '' && <CodeBlock text={body} label="Response, the first 1 KB" />}
    </article>
  );
}
