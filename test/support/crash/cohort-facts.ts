/** Lets contacts enter a {@link CohortFlow} and do what they do, and reads what their runs did. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Asked, type CohortFlow, type Deed, deedsOf, doneOf, hookOf, timed } from './cohort-flow.ts';
import type { RunFacts } from './cohort-model.ts';
import { askThroughOutages } from './flow-crash.ts';
import type { CrashStage } from './stage.ts';

/** Deeds are done this often, in ms. */
const TICK_MS = 200;
/** Requests under way at once. */
const PARALLEL = 8;
/** Events of one request. */
const MAX_EVENTS = 500;

interface Event extends Deed {
  does: Exclude<Deed['does'], string>;
}

/** Does what contacts do at their times, until all is done. */
export class Contacts {
  readonly leaves = new Map<number, Asked>();
  readonly deletions = new Map<number, Asked>();
  private readonly stage: CrashStage;
  private readonly flow: CohortFlow;

  constructor(stage: CrashStage, flow: CohortFlow) {
    this.stage = stage;
    this.flow = flow;
  }

  private idOf = (n: number) => this.flow.contactIds[n] as number;

  private async track(deeds: readonly Event[]): Promise<void> {
    for (let from = 0; from < deeds.length; from += MAX_EVENTS) {
      const events = deeds
        .slice(from, from + MAX_EVENTS)
        .map(({ n, does }) => ({ ...does, contact_id: this.idOf(n) }));
      await askThroughOutages(this.stage, { path: '/events/batch', body: { events } });
    }
  }

  private async leave(n: number): Promise<void> {
    if (this.deletions.has(n)) return;
    const path = `/contacts/${this.idOf(n)}`;
    const body = { data: { leaves: true } };
    this.leaves.set(n, await timed(() => askThroughOutages(this.stage, { method: 'PATCH', path, body })));
  }

  private async delete(n: number): Promise<void> {
    const path = `/contacts/${this.idOf(n)}`;
    const asking = askThroughOutages(this.stage, { method: 'DELETE', path }).catch((error: unknown) => {
      // An attempt whose response was lost has deleted it.
      if (!/: 404/.test((error as Error).message)) throw error;
    });
    this.deletions.set(n, await timed(() => asking));
  }

  private async doAll(deeds: readonly Deed[]): Promise<void> {
    await this.track(deeds.filter((deed): deed is Event => typeof deed.does === 'object'));
    const others = deeds.filter(({ does }) => typeof does === 'string');
    const work = async () => {
      for (let deed = others.shift(); deed; deed = others.shift()) {
        await (deed.does === 'leave' ? this.leave(deed.n) : this.delete(deed.n));
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
  }

  /**
   * Adds all contacts to the list, in parts.
   * @param options.everyMs the time between two parts
   */
  async enter({ parts, everyMs }: { parts: number; everyMs: number }): Promise<void> {
    const { seed, contactIds, entryListId } = this.flow;
    const size = Math.ceil(contactIds.length / parts);
    const began = Date.now();
    const deeds: (Deed & { at: number })[] = [];
    for (let part = 0; part < parts || deeds.length > 0;) {
      const now = Date.now();
      if (part < parts && now >= began + part * everyMs) {
        const add = contactIds.slice(part * size, (part + 1) * size);
        await askThroughOutages(this.stage, { path: `/lists/${entryListId}/contacts/bulk`, body: { add } });
        const of = add.flatMap((_, index) => deedsOf(seed, part * size + index));
        deeds.push(...of.map((deed) => ({ ...deed, at: Date.now() + deed.after })));
        part += 1;
      }
      const due = deeds.filter(({ at }) => at <= now);
      deeds.splice(0, deeds.length, ...deeds.filter(({ at }) => at > now));
      await this.doAll(due);
      await delay(TICK_MS);
    }
  }
}

/** Reads all runs of the flow. */
export async function readFacts({ database }: CrashStage, flow: CohortFlow): Promise<RunFacts[]> {
  const { flowId, listId, seed, contactIds } = flow;
  const { rows } = await database.pool.query<Omit<RunFacts, 'n'>>(
    `select r.id, r.contact_id as "contactId", r.state, r.reason, v.n as version,
       r.record->>'enteredAt' as "enteredAt", coalesce(p.path, '[]') as path, coalesce(e.events, '[]') as events,
       coalesce(m.messages, '[]') as messages, c.data->>'tier' as tier,
       exists (select 1 from list_members l where l.list_id = $2 and l.contact_id = c.id) as "isListed",
       (select count(*)::int from contact_events d join event_names n on n.id = d.name_id
        where d.contact_id = c.id and n.name = $3) as "doneEvents"
     from flow_runs r join flow_versions v on v.id = r.version_id left join contacts c on c.id = r.contact_id
     left join lateral (
       select jsonb_agg(jsonb_build_object('step_id', s.step_id, 'n', s.n, 'type', s.type, 'outcome', s.outcome,
         'reason', s.detail->>'reason', 'message_id', s.message_id, 'event_id', s.event_id,
         'entered_at', s.entered_at, 'left_at', s.left_at) order by s.n) as path
       from flow_run_steps s where s.run_id = r.id and s.left_at is not null) p on true
     left join lateral (
       select jsonb_agg(jsonb_build_object('id', e.id, 'name', n.name, 'total', e.data->'total',
         'created_at', e.created_at) order by e.created_at, e.id) as events
       from contact_events e join event_names n on n.id = e.name_id where e.contact_id = r.contact_id) e on true
     left join (
       select m.flow_run_id, jsonb_agg(jsonb_build_object('id', m.id, 'stepId', m.flow_step_id) order by m.id) as messages
       from messages m where m.flow_id = $1 group by 1) m on m.flow_run_id = r.id
     where r.flow_id = $1 order by r.id`,
    [flowId, listId, doneOf(seed)],
  );
  const numbers = new Map(contactIds.map((id, n) => [id, n]));
  return rows.map((row) => ({ ...row, n: numbers.get(row.contactId) as number }));
}

/** The ids of the webhooks that the endpoint received, by run. */
export function webhookIdsOf({ receiver }: CrashStage, { seed }: CohortFlow): Map<number, Set<unknown>> {
  const ids = new Map<number, Set<unknown>>();
  for (const { url, headers } of receiver.requests) {
    if (url !== hookOf(seed)) continue;
    const runId = Number(headers['carillon-run-id']);
    ids.set(runId, (ids.get(runId) ?? new Set()).add(headers['webhook-id']));
  }
  return ids;
}

/** How the flow's messages ended, against the mails that arrived. Those of deleted contacts have no address any more. */
export async function judgeMails(
  { database, sink }: CrashStage,
  { flowId, seed }: CohortFlow,
  deleted: ReadonlyMap<number, unknown>,
): Promise<{ twice: number; lost: string[]; stray: string[]; unknown: number; other: string[] }> {
  const { rows } = await database.pool.query<{ mail: string | null; status: string }>(
    `select m.to_address || ' ' || t.subject as mail, m.status from messages m
     join templates t on t.flow_id = m.flow_id and t.action_id = m.flow_step_id where m.flow_id = $1`,
    [flowId],
  );
  const arrived = sink.arrivals
    .filter(({ to }) => to.startsWith(`cohort${seed}-`))
    .map(({ to, subject }) => `${to} ${subject}`);
  const reached = new Set(arrived);
  const of = (status: string) => rows.flatMap((row) => (row.status === status ? (row.mail ?? []) : []));
  const known = new Set([...of('sent'), ...of('unknown')]);
  const isDeleted = (mail: string) => deleted.has(Number(/-(\d+)@/.exec(mail)?.[1]));
  return {
    twice: arrived.length - reached.size,
    lost: of('sent').filter((mail) => !reached.has(mail)),
    stray: arrived.filter((mail) => !known.has(mail) && !isDeleted(mail)),
    unknown: rows.filter(({ status }) => status === 'unknown').length,
    other: rows
      .filter(({ mail, status }) => mail !== null && !['sent', 'unknown'].includes(status))
      .map(({ mail, status }) => `${mail} ${status}`),
  };
}
