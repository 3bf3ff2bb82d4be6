import { defineIdempotentRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { resendUnknown } from './resend.ts';
import type { FlowDeps } from './routes.ts';
import { flowParams, resentSchema } from './schema.ts';

/** `POST /v1/my/flows/:id/resend_unknown`. */
export function createResendRoutes({ config, waker }: Pick<FlowDeps, 'config' | 'waker'>): RouteDefinition[] {
  const present = (count: number) => ({ requeued_count: count });
  return [
    defineIdempotentRoute({
      path: '/v1/my/flows/:id/resend_unknown',
      operationId: 'resendUnknownOfFlow',
      tag: 'Flows',
      summary: 'Resend messages of a flow that may have been lost',
      description:
        'Messages are `unknown` if a process died or lost a connection while it handed them over, so some contacts may ' +
        'get theirs twice. Consent is checked again. Messages are left out that were refused since, for example because ' +
        'their contact has unsubscribed, those from before a resume with `overdue: exit`, and those whose run is no longer ' +
        'kept. One request queues at most 20,000 of them; the next one continues. No message is queued twice.',
      auth: 'brand',
      audit: 'keys too',
      testKeys: 'refused',
      assistants: { sends: 'always' },
      params: flowParams,
      responses: {
        200: { description: 'The number of messages that are sent again.', schema: resentSchema },
      },
      errors: ['forbidden', 'invalid_transition', 'sender_not_verified'],
      async handler({ tenant, params }, trx) {
        const { requeued, backlogs } = await resendUnknown(trx, config.MAIL_DOMAIN, tenant, params.id);
        const afterCommit = () => {
          if (backlogs.length > 0) waker.wake('send', backlogs);
        };
        // The request creates no resource: its idempotency key stores the count, which a replay returns.
        return { status: 200, body: present(requeued), resourceId: requeued, afterCommit };
      },
      load: (_input, count) => Promise.resolve(present(count)),
    }),
  ];
}
