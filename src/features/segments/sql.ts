import { literalPattern } from '../../platform/db/like.ts';
import { campaignMailOfFewSql, campaignMailSql } from './campaign-mail.ts';
import { columnIsText, columnSql, verification } from './column-sql.ts';
import { jsonTimeSql, MAX_NUMBER_LENGTH, NUMBER_PATTERN } from './json-values.ts';
import {
  type Activity,
  before,
  type ColumnName,
  type Comparison,
  type Condition,
  type ElementTest,
  engagementKinds,
  type EngagementName,
  type Operand,
  type Period,
  type Test,
} from './language.ts';

type JsonTest = Exclude<Test, { type: 'address' }>;
type ValueTest = Exclude<JsonTest, { type: 'element' | 'array' }>;

/** A condition on contacts, under the alias `c`. It is never null. */
export interface SqlCondition {
  sql: string;
  /** The values of the parameters from `firstParameter` on. */
  values: unknown[];
}

export interface SqlContext {
  brandId: number;
  /** The time at which periods such as the last 30 days end. */
  asOf: Date;
  /** Whether the statement asks only for a few contacts, by their ids. */
  few?: boolean;
  /**
   * Whether it asks only for the contacts of a page, by a range of ids. Reading the messages of a whole campaign for each
   * page would take longer than the page.
   */
  paged?: boolean;
  /** The number of the first parameter: 2 for `$2`. */
  firstParameter: number;
  /** `event_names.id` by name. No event ever had a name that is missing. */
  eventNames: ReadonlyMap<string, number>;
}

const orderSql = { gt: '>', gteq: '>=', lt: '<', lteq: '<=' } as const;

const lowerAscii = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
const likePatterns = {
  contains: (text: string) => `%${text}%`,
  starts: (text: string) => `${text}%`,
  ends: (text: string) => `%${text}`,
};

/**
 * A comparison for which PostgreSQL has no statistics. It would guess that one row in two hundred passes, and look up
 * the events of each by an index, although most rows may pass. Inside `coalesce` it guesses half of the rows, and
 * chooses plans that are right for many rows and fast enough for few.
 */
const guessed = (sql: string) => `coalesce(${sql}, false)`;

/** SQL for a JSON value as a number, null if it is none; the casts cannot fail. */
function jsonNumber(json: string): string {
  const text = `(${json} #>> '{}')`;
  return (
    `case jsonb_typeof(${json}) when 'number' then ${json}::numeric when 'string' then ` +
    `case when length${text} <= ${MAX_NUMBER_LENGTH} and ${text} ~ '${NUMBER_PATTERN}' then ${text}::numeric end end`
  );
}

/**
 * Recognizes "idle since": the last interaction is blank or older than a period. PostgreSQL cannot use joins for an
 * `or`, but it can join with the contacts that were active in the period.
 */
function idlePeriod(parts: readonly Condition[]): Period | null {
  const ofActivity = (condition: Condition | undefined): Test | null =>
    condition?.type === 'value' &&
    'column' in condition.operand &&
    condition.operand.column === 'last_interacted_at'
      ? condition.test
      : null;
  const blank = parts.find((part) => part.type === 'not' && ofActivity(part.part)?.type === 'present');
  const aged = ofActivity(parts.find((part) => ofActivity(part) !== null));
  if (parts.length !== 2 || !blank || aged?.type !== 'time' || aged.match !== 'older_than') return null;
  return aged.period;
}

/** Writes conditions as SQL. Every value from a client is a parameter. */
class SqlWriter {
  readonly values: unknown[] = [];
  private readonly context: SqlContext;

  constructor(context: SqlContext) {
    this.context = context;
  }

  condition(condition: Condition): string {
    switch (condition.type) {
      case 'all':
      case 'any':
        return this.group(condition.parts, condition.type);
      case 'not':
        return `not ${this.condition(condition.part)}`;
      case 'value':
        return this.value(condition.operand, condition.test);
      case 'list':
        return this.inLists(condition.ids);
      case 'segment':
        throw new Error('referenced segments must be replaced by their filters first');
      case 'did':
        return this.did(condition);
      case 'engaged':
      case 'compared':
        throw new Error('values of a flow run must be folded first');
    }
  }

  private group(parts: readonly Condition[], type: 'all' | 'any'): string {
    if (parts.length === 0) return type === 'all' ? 'true' : 'false';
    const idle = type === 'any' ? idlePeriod(parts) : null;
    if (idle) {
      return `not exists (select 1 from contact_activity a
        where a.contact_id = c.id and a.last_interacted_at >= ${this.since(idle)})`;
    }
    return `(${parts.map((part) => this.condition(part)).join(type === 'all' ? ' and ' : ' or ')})`;
  }

  private parameter(value: unknown, type: string): string {
    this.values.push(value);
    return `$${this.context.firstParameter + this.values.length - 1}::${type}`;
  }

  private since(period: Period): string {
    return this.parameter(before(this.context.asOf, period), 'timestamptz');
  }

  private inLists(ids: readonly number[]): string {
    return `exists (select 1 from list_members m where m.contact_id = c.id
      and m.list_id = any(${this.parameter([...new Set(ids)], 'bigint[]')}))`;
  }

  private activitySource(activity: Activity): string {
    if ('engagement' in activity) {
      const brand = this.parameter(this.context.brandId, 'bigint');
      const kind = this.parameter(engagementKinds[activity.engagement], 'smallint');
      return `contact_engagement e where e.brand_id = ${brand} and e.kind = ${kind}`;
    }
    // The number of a name belongs to one brand.
    const name = this.parameter(this.context.eventNames.get(activity.event), 'integer');
    return `contact_events e where e.name_id = ${name} and not e.test`;
  }

  private did({ activity, atLeast, within }: Condition & { type: 'did' }): string {
    if ('event' in activity && !this.context.eventNames.has(activity.event)) return 'false';
    if ('engagement' in activity && activity.campaignId !== null) {
      return this.didWithCampaign(activity.engagement, activity.campaignId, within);
    }
    if (this.context.few && 'engagement' in activity && activity.engagement === 'email_sent') {
      return this.wasSent(atLeast, within);
    }
    const source = `${this.activitySource(activity)}${within ? ` and e.created_at >= ${this.since(within)}` : ''}`;
    if (atLeast === 1) return `exists (select 1 from ${source} and e.contact_id = c.id)`;
    if (this.context.few) {
      const least = this.parameter(atLeast, 'bigint');
      return `(select count(*) from (select 1 from ${source} and e.contact_id = c.id limit ${least}) e) = ${least}`;
    }
    // Grouped once for all contacts: otherwise, PostgreSQL would count the events of each contact separately.
    return `exists (select 1 from (select e.contact_id from ${source}
      group by e.contact_id having count(*) >= ${this.parameter(atLeast, 'bigint')}) e where e.contact_id = c.id)`;
  }

  private didWithCampaign(engagement: EngagementName, campaignId: number, within: Period | null): string {
    const mail = {
      engagement,
      campaign: this.parameter(campaignId, 'bigint'),
      since: within && this.since(within),
    };
    if (!this.context.few && !this.context.paged) return campaignMailSql(mail);
    return campaignMailOfFewSql({ ...mail, brand: this.parameter(this.context.brandId, 'bigint') });
  }

  /**
   * Whether each of a few contacts was sent mail. Sent mail has no index by contact, but each contact has a count of
   * it, and messages have an index by address. The mail of the whole brand is read only for the time whose messages are
   * no longer kept, and only if the contact was sent mail then.
   */
  private wasSent(atLeast: number, within: Period | null): string {
    const least = this.parameter(atLeast, 'bigint');
    const count = `coalesce((select k.sent_count from contact_channel_counts k
      where k.contact_id = c.id and k.channel = 'email'), 0)`;
    if (!within) return `${count} >= ${least}`;
    const brand = this.parameter(this.context.brandId, 'bigint');
    const since = this.since(within);
    const messages = `messages m where m.brand_id = ${brand} and m.to_key = any(array(
        select c.email_key union all select f.address_key from contact_former_addresses f where f.contact_id = c.id))
      and m.contact_id = c.id and m.channel = 'email' and not m.test`;
    // Messages wait at most some days before they are sent.
    const keptSince = `coalesce((select o.created_at + interval '7 days' from messages o order by o.id limit 1), now())`;
    return `case when ${count} < ${least} then false
      when (select count(m.sent_at) from ${messages}) >= ${count}
      then (select count(*) from ${messages} and m.sent_at >= ${since}) >= ${least}
      else (select count(*) from ${messages} and m.sent_at >= greatest(${since}, ${keptSince}))
        + (select count(*) from contact_engagement e where e.brand_id = ${brand} and e.kind = 0
          and e.created_at >= ${since} and e.created_at < ${keptSince} and e.contact_id = c.id) >= ${least} end`;
  }

  private value(operand: Operand, test: Test): string {
    if ('of' in operand) throw new Error('values of a flow run must be folded first');
    if (test.type === 'address') return this.address(operand, test);
    if ('path' in operand) return this.jsonValue(this.jsonOf(operand.path), test);
    if (test.type === 'element' || test.type === 'array') throw new Error('columns contain no arrays');
    return this.ofColumn(operand.column, test);
  }

  private ofColumn(name: ColumnName, test: ValueTest): string {
    if (name === 'last_interacted_at') {
      return `exists (select 1 from contact_activity a
        where a.contact_id = c.id and ${this.columnValue('a.last_interacted_at', test)})`;
    }
    if (name === 'verification_status') return verification(test);
    if (name === 'email_verdict') {
      // A verdict on a former address of the contact does not count.
      return `exists (select 1 from contact_verdicts v where v.contact_id = c.id and v.email_key = c.email_key
        and ${this.columnValue('v.verdict', test)})`;
    }
    const column = columnSql[name];
    // A column that is never null needs no guard, which would keep PostgreSQL from using its index.
    if (test.type === 'boolean') return test.value ? column : `not ${column}`;
    if (test.type === 'present') return `(${this.columnValue(column, test)})`;
    if (test.type === 'text' && test.match !== 'equal') return this.columnValue(column, test);
    const sql = this.columnValue(column, test);
    return name === 'id' || name === 'created_at' || name === 'updated_at'
      ? `(${sql})`
      : `(${column} is not null and ${sql})`;
  }

  /** An address of the contact; the column that is compared has an index. */
  private address(operand: Operand, test: Test & { type: 'address' }): string {
    const isEmail = 'column' in operand && operand.column === 'email';
    const key = isEmail ? 'c.email_key' : 'c.phone';
    switch (test.match) {
      case 'equal':
        return `(${key} is not null and ${key} = any(${this.parameter(test.keys, 'text[]')}))`;
      case 'pattern':
        return guessed(`${key} ~ ${this.parameter(test.pattern, 'text')}`);
      default: {
        const patterns = test.parts.map((part) => likePatterns[test.match](literalPattern(part)));
        return guessed(`${key} like any(${this.parameter(patterns, 'text[]')})`);
      }
    }
  }

  private jsonOf(path: readonly string[]): string {
    // The keys are text, so the path leads into objects only, never into arrays.
    return `(c.data${path.map((name) => ` -> ${this.parameter(name, 'text')}`).join('')})`;
  }

  private columnValue(column: string, test: ValueTest): string {
    switch (test.type) {
      case 'text':
        if (test.match === 'equal') return `${column} = any(${this.parameter(test.values, 'text[]')})`;
        return this.like(column, test.match, test.value);
      case 'number':
        if (test.match === 'equal') return `${column} = any(${this.parameter(test.values, 'bigint[]')})`;
        return this.comparison(column, test.comparison, 'numeric');
      case 'time':
        return this.time(column, test, '');
      case 'boolean':
        return `${column} = ${this.parameter(test.value, 'boolean')}`;
      case 'present':
        return columnIsText(column) ? `coalesce(${column}, '') <> ''` : `${column} is not null`;
    }
  }

  private like(text: string, match: keyof typeof likePatterns, value: string): string {
    const pattern = likePatterns[match](literalPattern(lowerAscii(value)));
    // In the C collation, only ASCII letters have a case.
    return guessed(`lower(${text} collate "C") like ${this.parameter(pattern, 'text')}`);
  }

  private comparison(sql: string, comparison: Comparison<number | Date>, type: string): string {
    if (comparison.order === 'between') {
      const [low, high] = [this.parameter(comparison.low, type), this.parameter(comparison.high, type)];
      return `${sql} between ${low} and ${high}`;
    }
    return `${sql} ${orderSql[comparison.order]} ${this.parameter(comparison.value, type)}`;
  }

  /** @param limit SQL: a further condition of `within_last` */
  private time(sql: string, test: Test & { type: 'time' }, limit: string): string {
    if (test.match === 'compare') return this.comparison(sql, test.comparison, 'timestamptz');
    if (test.match === 'older_than') return `${sql} < ${this.since(test.period)}`;
    return `${sql} >= ${this.since(test.period)}${limit}`;
  }

  private jsonValue(json: string, test: JsonTest): string {
    switch (test.type) {
      case 'text':
        if (test.match === 'equal') {
          const values = test.values.map((value) => JSON.stringify(value));
          return guessed(`${json} = any(${this.parameter(values, 'jsonb[]')})`);
        }
        return guessed(
          `jsonb_typeof(${json}) = 'string' and ${this.like(`(${json} #>> '{}')`, test.match, test.value)}`,
        );
      case 'number':
        if (test.match === 'equal') {
          return guessed(`${jsonNumber(json)} = any(${this.parameter(test.values, 'numeric[]')})`);
        }
        return guessed(this.comparison(jsonNumber(json), test.comparison, 'numeric'));
      case 'time': {
        // The data may contain future times, which are not within the last days.
        const sql = jsonTimeSql(json);
        const limit =
          test.match === 'within_last'
            ? ` and ${sql} <= ${this.parameter(this.context.asOf, 'timestamptz')}`
            : '';
        return guessed(this.time(sql, test, limit));
      }
      case 'boolean':
        return guessed(`${json} in ('${test.value}'::jsonb, '"${test.value}"'::jsonb)`);
      case 'present':
        return `coalesce(${json}, 'null') not in ('null'::jsonb, '""'::jsonb, '[]'::jsonb, '{}'::jsonb)`;
      case 'element':
        return this.jsonElement(json, test.test);
      case 'array':
        return guessed(`${json} = ${this.parameter(JSON.stringify(test.value), 'jsonb')}`);
    }
  }

  private jsonElement(json: string, test: ElementTest): string {
    const isArray = `jsonb_typeof(${json}) = 'array'`;
    if (test.type === 'text') {
      return guessed(`${isArray} and jsonb_exists_any(${json}, ${this.parameter(test.values, 'text[]')})`);
    }
    // Most values are no arrays, and a function call for each contact takes longer than all of its other tests.
    return `case when ${isArray} then exists (select 1 from jsonb_array_elements(${json}) e
      where ${this.jsonValue('e.value', test)}) else false end`;
  }
}

/**
 * Writes conditions, all of which must hold, as one SQL condition on contacts, under the alias `c`. It does not
 * restrict the brand: the statement must have `where c.brand_id = …`.
 * @param conditions without references to segments
 */
export function writeSql(conditions: readonly Condition[], context: SqlContext): SqlCondition {
  const writer = new SqlWriter(context);
  return { sql: writer.condition({ type: 'all', parts: conditions }), values: writer.values };
}
