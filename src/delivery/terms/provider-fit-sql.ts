/** SQL: what an email provider can take, by the facts of its kind and by what its mail server has said. */
import { providerFacts } from './provider-facts.ts';

/**
 * SQL: the kind of a provider; null: there is no such provider.
 * @param id SQL: as in `send_queue`
 * @param defaultKind SQL: the kind of the provider in the setting
 */
export const providerKindSql = (id: string, defaultKind: string): string =>
  `case when ${id} = 0 then ${defaultKind} else (select p.kind from providers p where p.id = ${id}) end`;

/** SQL: the largest message in bytes that a provider takes; null: no limit is known. @param kind, id SQL */
export function maxBytesSql(kind: string, id: string): string {
  const cases = Object.entries(providerFacts).flatMap(([name, { maxBytes }]) =>
    maxBytes === null ? [] : `when '${name}' then ${maxBytes}`,
  );
  return `least(case ${kind} ${cases.join(' ')} end, (select s.max_bytes from provider_sizes s where s.provider_id = ${id}))`;
}

/** SQL: whether a provider sends to everyone in the header, see `ProviderFacts`. @param kind SQL */
export function ccIsEnvelopeSql(kind: string): string {
  const names = Object.entries(providerFacts).flatMap(([name, facts]) =>
    facts.ccIsEnvelope ? `'${name}'` : [],
  );
  return `coalesce(${kind} in (${names.join(', ')}), false)`;
}
