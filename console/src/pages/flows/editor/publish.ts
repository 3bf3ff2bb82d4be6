/** Publishing: what is sent, and what it means for runs under way. */
import { api, call, callWithTag, type Schemas } from '../../../api/client.ts';
import type { Draft } from '../../../editors/draft/draft.ts';
import { keyOf } from '../flow-layout.ts';
import { compareSteps, isSame, type Comparison } from './compare.ts';
import { contentOf, requestOf } from './content.ts';
import { allSteps, type FlowContent, type Step } from './model.ts';

type Flow = Schemas['Flow'];

export interface PublishChoices {
  /** Whether runs under way move to the new version. */
  applyTo: 'new' | 'waiting';
  /** Null publishes a draft without activating it. */
  activate: { enterExisting: boolean } | null;
}

/** Sends the draft as the flow, and activates the flow if it is asked to. */
export async function publishFlow(
  flowId: number,
  draft: Pick<Draft<FlowContent>, 'publish'>,
  { applyTo, activate }: PublishChoices,
): Promise<void> {
  const path = { id: flowId };
  await draft.publish(async (content, etag) => {
    const { data, etag: next } = await callWithTag(() =>
      api.PATCH('/v1/my/flows/{id}', {
        params: { path, header: { 'If-Match': etag } },
        body: { ...requestOf(content), apply_to: applyTo },
      }),
    );
    return { content: contentOf(data), etag: next ?? '', at: data.updated_at };
  });
  if (!activate) return;
  await call(() =>
    api.POST('/v1/my/flows/{id}/activate', {
      params: { path },
      body: { enter_existing: activate.enterExisting },
    }),
  );
}

/** What a letter or a text consists of. It belongs to no version. */
const CONTENT: ReadonlySet<string> = new Set([
  ...['subject', 'preheader', 'body', 'design', 'from_name', 'from_email', 'reply_to'],
]);

const sends = ({ type }: Pick<Step, 'type'>) => type === 'email' || type === 'sms';

export interface Difference extends Comparison {
  /** Whether runs would do something else, so that a new version is made. */
  makesVersion: boolean;
  /** The steps whose letter or text changes, also for runs under way. */
  letters: readonly Step[];
  /** The ids of steps that are no longer in the flow. */
  removed: ReadonlySet<number>;
}

/** Compares the flow that is live with what would be published. */
export function differenceOf(
  flow: Pick<Flow, 'goal' | 'trigger' | 'steps'>,
  content: FlowContent,
): Difference {
  const comparison = compareSteps(flow.steps, content.steps);
  const kept = new Set(allSteps(content.steps).map(({ step }) => keyOf(step)));
  const ofRuns = comparison.rows.some(
    ({ right, change, fields }) =>
      change === 'added' ||
      change === 'removed' ||
      change === 'moved' ||
      fields.some(({ field }) => !(right && sends(right) && CONTENT.has(field))),
  );
  return {
    ...comparison,
    makesVersion: ofRuns || flow.goal !== content.goal || !isSame(flow.trigger, content.trigger),
    letters: comparison.rows.flatMap(({ right, fields }) =>
      right && sends(right) && fields.some(({ field }) => CONTENT.has(field)) ? right : [],
    ),
    removed: new Set(
      allSteps(flow.steps).flatMap(({ step: { id } }) => (id !== undefined && !kept.has(id) ? id : [])),
    ),
  };
}
