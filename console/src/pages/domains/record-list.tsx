import { CopyButton } from '../../ui/code.tsx';
import { StatusBadge } from '../../ui/details.tsx';
import type { Tone } from '../../ui/notice.tsx';
import { purposeOf, type DnsRecord, type Domain } from './records.ts';

function stateOf({ valid, found, required }: DnsRecord): { text: string; tone: Tone } {
  if (valid === 'true') return { text: 'right', tone: 'good' };
  if (valid === 'unknown') return { text: 'not known yet', tone: 'quiet' };
  const tone = required === 'true' ? 'bad' : 'warn';
  return { text: found ? 'wrong' : 'not found', tone };
}

/** The records to publish, each with what the DNS has now. */
export function RecordList({ domain, records }: { domain: Domain; records: readonly DnsRecord[] }) {
  return (
    <ul className="records">
      {records.map((record) => (
        <li key={`${record.record_type} ${record.name} ${record.value}`}>
          <Record record={record} domain={domain} />
        </li>
      ))}
    </ul>
  );
}

function Record({ record, domain }: { record: DnsRecord; domain: Domain }) {
  const { text, tone } = stateOf(record);
  const purpose = purposeOf(record, domain);
  return (
    <article className="record">
      <header>
        <h3>
          {record.record_type}
          {purpose !== null && <span className="muted"> {purpose}</span>}
        </h3>
        <span className="actions">
          {record.required === 'false' && <StatusBadge status="optional" />}
          <StatusBadge status={text} tone={tone} />
        </span>
      </header>
      <dl>
        <Part name="Name" value={record.name} copy="Copy name" />
        {record.priority !== '' && record.record_type === 'MX' && (
          <Part name="Priority" value={record.priority} />
        )}
        <Part name="Value" value={record.value} copy="Copy value" />
        {record.valid === 'false' && (
          <Part name="In the DNS now" value={record.found || 'no record with this name and type'} />
        )}
      </dl>
    </article>
  );
}

function Part({ name, value, copy }: { name: string; value: string; copy?: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <code>{value}</code>
        {copy !== undefined && <CopyButton text={value} label={copy} />}
      </dd>
    </div>
  );
}
