import { endOptOut, findOptOuts, recordOptOut } from '../../delivery/ledger/consent/opt-outs.ts';
import { channelFacts } from '../../delivery/terms/channels/index.ts';
import { invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ChannelChange, ChannelChanges } from './change.ts';
import { type ChannelState, channelStateOf, nextState, noChannel } from './channel-state.ts';
import { changeSubscription, type ConsentDeps } from './consent.ts';
import { dataProblem, patchData } from './data.ts';
import { type ContactValues, keepFormerAddress, noteSubscription, type StoredContact } from './model.ts';
import {
  type ChangeContactBody,
  type ChannelKind,
  channelKinds,
  channelOfKind,
  type CreateContactBody,
  MAX_CHANNEL_DATA_BYTES,
} from './schema.ts';

export interface Writing {
  trx: Queryable;
  deps: ConsentDeps;
  tenant: BrandScope;
  at: Date;
  /** When each address of the request unsubscribed, if already looked up. */
  optedOutAt?: Record<ChannelKind, Date | null>;
}

export type Body = CreateContactBody | ChangeContactBody;

/** @param row the contact that the request changes; null: a new one */
export function fieldsOf(body: Body, row: StoredContact | null, at: Date): ContactValues {
  const { first_name, last_name, source, country_code, enrichment_status: status } = body;
  const enriched_at = status && (status === 'enriched' ? (row?.enriched_at ?? at) : null);
  const given = Object.entries({ first_name, last_name, source, country_code, enriched_at });
  const values: ContactValues = Object.fromEntries(given.filter(([, value]) => value !== undefined));
  if (body.data === undefined) return values;
  const data = patchData(row?.data ?? {}, body.data);
  const problem = dataProblem(data);
  if (problem !== null) throw invalid({ data: [problem] });
  return { ...values, data: JSON.stringify(data) };
}

async function findOptOut(
  { trx, deps, tenant, optedOutAt: known }: Writing,
  kind: ChannelKind,
  key: string,
): Promise<Date | null> {
  if (known) return known[kind];
  const { keyring, plusAddresses } = deps;
  const of = { brandId: tenant.brandId, channel: channelOfKind[kind], plusAddresses, addresses: [key] };
  return (await findOptOuts(trx, keyring, of)).get(key) ?? null;
}

/** Brings the opt-out ledger in line with a channel that has a new address. */
async function syncLedger(
  { trx, deps, tenant }: Writing,
  kind: ChannelKind,
  address: string,
  subscribed: boolean,
): Promise<void> {
  const { keyring, plusAddresses } = deps;
  const ledger = { brandId: tenant.brandId, channel: channelOfKind[kind], address, plusAddresses };
  if (subscribed) await endOptOut(trx, keyring, ledger);
  else {
    const { accountId } = tenant;
    await recordOptOut(trx, keyring, { ...ledger, accountId, source: 'manual', messageId: null });
  }
}

export function channelValues(kind: ChannelKind, state: ChannelState, at: Date): ContactValues {
  return {
    [kind]: state.address,
    [channelFacts[channelOfKind[kind]].contact.key]: state.key,
    [`${kind}_subscribed`]: state.subscribed,
    [`${kind}_verified`]: state.verified,
    [`${kind}_opt_in_at`]: state.optInAt,
    [`${kind}_opt_in_source`]: state.optInSource,
    [`${kind}_opt_out_at`]: state.optOutAt,
    [`${kind}_data`]: state.data === null ? null : JSON.stringify(state.data),
    [`${kind}_created_at`]: state.createdAt,
    [`${kind}_updated_at`]: state.key === null ? null : at,
  };
}

export interface Planned {
  kind: ChannelKind;
  change: ChannelChange;
  before: ChannelState;
  after: ChannelState;
}

export async function plan(
  writing: Writing,
  row: StoredContact | null,
  changes: ChannelChanges,
): Promise<Planned[]> {
  const planned: Planned[] = [];
  for (const kind of channelKinds) {
    const change = changes[kind];
    if (!change) continue;
    const before = row ? channelStateOf(row, kind) : noChannel;
    if (before.key === null && change.address === null && !change.remove) {
      throw invalid({ channels_attributes: [`need a value for ${kind}: the contact has no such channel`] });
    }
    const key = change.address?.key ?? null;
    const isNew = key !== null && key !== before.key;
    const history = { at: writing.at, optedOutAt: isNew ? await findOptOut(writing, kind, key) : null };
    const after = nextState(before, change, history);
    const problem = after.data === null ? null : dataProblem(after.data, MAX_CHANNEL_DATA_BYTES);
    if (change.data !== null && problem !== null) throw invalid({ [change.dataField]: [problem] });
    planned.push({ kind, change, before, after });
  }
  return planned;
}

/** Writes what follows from a change of a channel, after the contact's row: former address, ledger and history. */
export async function follow(
  writing: Writing,
  id: number,
  { kind, change, before, after }: Planned,
): Promise<void> {
  const { trx, deps, tenant } = writing;
  const channel = channelOfKind[kind];
  const isMoved = before.key !== after.key;
  if (isMoved && before.key !== null) await keepFormerAddress(trx, id, before.key);
  if (after.address === null) return;
  if (!isMoved) {
    if (change.subscribed === null) return;
    await changeSubscription(trx, deps, {
      ...tenant,
      channel,
      subscribed: change.subscribed,
      source: 'manual',
      of: { contactId: id },
    });
    return;
  }
  if (change.subscribed === true || !after.subscribed) {
    await syncLedger(writing, kind, after.address, after.subscribed);
  }
  if (before.key !== null && before.subscribed !== after.subscribed) {
    await noteSubscription(trx, { contactId: id, channel, subscribed: after.subscribed, source: 'manual' });
  }
}
