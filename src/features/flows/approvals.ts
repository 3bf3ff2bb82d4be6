/** The operator's side of approvals: lists the flows that wait, shows one, and approves or rejects it. */
import { notFound } from '../../errors.ts';
import { decideApproval, type Decision } from '../../platform/db/approvals.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { findFlowById, FLOW_COLUMNS, type FlowRow, type PinnedContent } from './model.ts';
import { pathsOf } from './paths.ts';
import { sendingSteps, type Step } from './steps/index.ts';
import { fromStored, maskSteps } from './steps/secret-headers.ts';
import { approveFlow, rejectFlow } from './transitions.ts';

const MAX_LISTED = 500;

/** A flow as `carillon flow` lists it. */
export interface OperatorFlow extends Pick<
  FlowRow,
  'id' | 'account_id' | 'brand_id' | 'name' | 'status' | 'approval_state' | 'goal' | 'stop'
> {
  trigger: Pick<FlowRow, 'contact_list_id' | 'segment_id' | 'trigger_data'> & { event: string | null };
}

/** What one email or sms step sends. */
export interface OperatorContent {
  /** The path of the step, such as `steps[0]`. */
  step: string;
  version_id: number;
  channel: string;
  from_name: string | null;
  from_email: string | null;
  subject: string | null;
  preheader: string | null;
  html: string | null;
  text: string | null;
}

export interface OperatorFlowView extends OperatorFlow {
  /** The versions that an approval names: that of the steps, then those of their contents in the order of the steps. */
  versions: number[];
  steps: Step[];
  contents: OperatorContent[];
}

function presentOperatorFlow(row: FlowRow): OperatorFlow {
  const { id, account_id, brand_id, name, status, approval_state, goal, stop } = row;
  const { trigger_event: event, contact_list_id, segment_id, trigger_data } = row;
  return {
    id,
    account_id,
    brand_id,
    name,
    status,
    approval_state,
    goal,
    stop,
    trigger: { event, contact_list_id, segment_id, trigger_data },
  };
}

/**
 * Flows that wait for approval, oldest first.
 * @param options.all includes flows that do not wait, except archived ones
 */
export async function listFlowsForOperator(
  db: Queryable,
  { all }: { all: boolean },
): Promise<OperatorFlow[]> {
  const { rows } = await db.query<FlowRow>(
    `select ${FLOW_COLUMNS} from flows
     where status in ('active', 'paused') and ($1 or approval_state = 'pending') order by id limit ${MAX_LISTED}`,
    [all],
  );
  return rows.map(presentOperatorFlow);
}

interface Pinned {
  /** Null: the flow was never activated. */
  versionId: number | null;
  steps: Step[];
  /** In the order of the steps. */
  contents: PinnedContent[];
}

/** The version that waits for approval, or else the one in force. */
async function readPinned(db: Queryable, row: FlowRow): Promise<Pinned> {
  const versionId = row.pending?.version_id ?? row.version_id;
  const versions = await db.query<{ steps: Step[] }>('select steps from flow_versions where id = $1', [
    versionId,
  ]);
  const steps = maskSteps(fromStored(versions.rows[0]?.steps ?? []));
  let contents = row.pending?.contents;
  if (!contents) {
    const { rows } = await db.query<PinnedContent>(
      'select step_id, template_id, version_id from flow_contents where flow_id = $1',
      [row.id],
    );
    contents = rows;
  }
  const byStep = new Map(contents.map((content) => [content.step_id, content]));
  return { versionId, steps, contents: sendingSteps(steps).flatMap(({ id }) => byStep.get(id) ?? []) };
}

const versionsOf = ({ versionId, contents }: Pinned): number[] => [
  ...(versionId === null ? [] : [versionId]),
  ...contents.map((content) => content.version_id),
];

async function requireFlow(db: Queryable, id: number): Promise<FlowRow> {
  const row = await findFlowById(db, id);
  if (!row) throw notFound('flow');
  return row;
}

/** @throws AppError not_found */
export async function showFlowForOperator(db: Queryable, id: number): Promise<OperatorFlowView> {
  const row = await requireFlow(db, id);
  const pinned = await readPinned(db, row);
  const { rows } = await db.query<Omit<OperatorContent, 'step' | 'version_id'> & { id: number }>(
    `select id, channel, from_name, from_email, subject, preheader, html, text from template_versions where id = any($1)`,
    [pinned.contents.map((content) => content.version_id)],
  );
  const texts = new Map(rows.map((version) => [version.id, version]));
  const paths = pathsOf(pinned.steps);
  const contents = pinned.contents.flatMap(({ step_id: stepId, version_id: versionId }) => {
    const version = texts.get(versionId);
    if (!version) return [];
    const { id: _, ...shown } = version;
    return [{ step: paths.get(stepId) ?? '', version_id: versionId, ...shown }];
  });
  return { ...presentOperatorFlow(row), versions: versionsOf(pinned), steps: pinned.steps, contents };
}

/**
 * Approves or rejects a flow. Wake `outbox` after the commit.
 * @param decision an approval names the versions as {@link showFlowForOperator} shows them
 * @throws AppError not_found; invalid_transition if it does not wait for approval; conflict if its versions have
 *   changed
 */
export async function decideFlow(trx: Queryable, id: number, decision: Decision): Promise<OperatorFlow> {
  const row = await requireFlow(trx, id);
  const changed = await decideApproval<FlowRow>(decision, {
    noun: 'flow',
    id,
    approve: (check) => approveFlow(trx, row, check),
    reject: () => rejectFlow(trx, row),
    versionsOf: async (locked) => versionsOf(await readPinned(trx, locked)),
  });
  return presentOperatorFlow(changed);
}
