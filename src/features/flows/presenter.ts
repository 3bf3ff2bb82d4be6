import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type ListedTemplateRow, presentTemplate, presentTemplateSummary } from '../templates/service.ts';
import { findPageTemplates, findStepTemplates } from './content.ts';
import type { FlowRow } from './model.ts';
import type { Flow, FlowStep, FlowSummary } from './schema.ts';
import { mapBranches, presentFields, sendingSteps, type Step } from './steps/index.ts';
import { maskSteps } from './steps/secret-headers.ts';

type Templates = ReadonlyMap<number, ListedTemplateRow>;

/**
 * Presents steps with their contents and with masked headers, so that a client can change them and send them back.
 * @param templates by id; steps whose template is absent are without contents
 */
export function presentSteps(steps: readonly Step[], templates: Templates): FlowStep[] {
  return withContents(maskSteps(steps), templates);
}

function withContents(steps: readonly Step[], templates: Templates): FlowStep[] {
  return steps.map((step) => ({
    ...step,
    ...presentFields(step, 'template_id' in step ? templates.get(step.template_id) : undefined),
    ...mapBranches(step, (inner) => withContents(inner, templates)),
  }));
}

/** Presents who enters a flow. */
export function presentTrigger(
  row: Pick<FlowRow, 'trigger_event' | 'segment_id' | 'contact_list_id' | 'trigger_data'>,
): FlowSummary['trigger'] {
  return {
    event: row.trigger_event,
    segment_id: row.segment_id,
    contact_list_id: row.contact_list_id,
    data: row.trigger_data as FlowSummary['trigger']['data'],
  };
}

function presentOverview(row: FlowRow, templates: Templates): Omit<FlowSummary, 'templates'> {
  return {
    id: row.id,
    account_id: row.account_id,
    status: row.status,
    approval_state: row.approval_state,
    name: row.name,
    goal: row.goal,
    unknown: row.unknown,
    trigger: presentTrigger(row),
    steps: presentSteps(row.steps, templates),
    sent_count: row.sent_count,
    stop: row.stop,
    revision: row.revision,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/**
 * Presents a list of flows of one brand, in the given order, without the designs of their templates.
 * @param summary whether the bodies of contents are left out as well
 */
export async function presentFlows(
  db: Queryable,
  scope: BrandScope,
  rows: readonly FlowRow[],
  summary: boolean,
): Promise<FlowSummary[]> {
  const templates = await findPageTemplates(db, scope, rows, summary);
  return rows.map((row) => ({
    ...presentOverview(row, templates),
    templates: ownOf(row, templates).map(presentTemplateSummary),
  }));
}

/** The templates of a flow in the order of its steps. */
function ownOf<T extends ListedTemplateRow>(row: FlowRow, templates: ReadonlyMap<number, T>): T[] {
  return sendingSteps(row.steps).flatMap((step) => templates.get(step.template_id) ?? []);
}

/** Presents a flow with its contents. */
export async function presentFlow(db: Queryable, row: FlowRow): Promise<Flow> {
  const scope: BrandScope = { accountId: row.account_id, brandId: row.brand_id };
  const templates = await findStepTemplates(db, scope, row.steps);
  return { ...presentOverview(row, templates), templates: ownOf(row, templates).map(presentTemplate) };
}
