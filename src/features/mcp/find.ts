/** `find_operation`: what the API can do, by words, and the whole schema of one operation. */
import { z } from 'zod';
import { AppError } from '../../errors.ts';
import type { McpScope } from '../../platform/auth/grant-caller.ts';
import type { Role } from '../../platform/auth/tenant.ts';
import type { Operation } from './operations.ts';
import { parseArguments } from './requests.ts';
import type { Tools } from './tools.ts';

const MAX_FOUND = 10;
/** A word in the name says more than one in the description. */
const WEIGHTS = { name: 8, summary: 4, tag: 4, description: 1 } as const;

const findArguments = z
  .strictObject({ query: z.string().max(200).optional(), operation: z.string().max(100).optional() })
  .refine(({ query, operation }) => (query === undefined) !== (operation === undefined), {
    path: ['query'],
    message: 'or operation is required, and only one of them',
  });

/** The words of a text, without the ends that make a plural. */
const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[a-z0-9]+/g) ?? []).map((word) =>
    word.length > 3 ? word.replace(/(es|s)$/, '') : word,
  );

function score({ name, route, description }: Operation, wanted: readonly string[]): number {
  const texts = { name, summary: route.summary, tag: route.tag, description };
  let total = 0;
  for (const [part, weight] of Object.entries(WEIGHTS)) {
    const words = wordsOf(texts[part as keyof typeof texts]);
    for (const word of wanted) if (words.some((each) => each.startsWith(word))) total += weight;
  }
  return total;
}

/** The caller for whom operations are found. */
interface Finder {
  role: Role;
  /** Those that the user has allowed. */
  scopes: ReadonlySet<McpScope>;
}

function summaryOf({ name, route, access }: Operation, tools: Tools, { scopes }: Finder) {
  return {
    operation: name,
    summary: route.summary,
    call_with: tools.find(name) ? name : access.readOnly ? 'read_operation' : 'change_operation',
    scopes: access.scopesFor({}, scopes),
  };
}

/** The operation that a call names. @throws AppError not_found; forbidden if it is not for assistants */
export function requireOperation(tools: Tools, name: string): Operation {
  const operation = tools.operation(name);
  if (operation) return operation;
  if (tools.exists(name)) throw new AppError('forbidden', `${name} is not for assistants`);
  throw new AppError('not_found', `there is no operation ${name.slice(0, 100)}; see find_operation`);
}

/**
 * Finds operations that the role of the user may call.
 * @throws AppError validation_error, not_found, forbidden
 */
export function findOperation(tools: Tools, finder: Finder, args: unknown): Record<string, unknown> {
  const { query = '', operation: name } = parseArguments(findArguments, args);
  if (name !== undefined) {
    const operation = requireOperation(tools, name);
    const { description, argumentSchema, access, route } = operation;
    return {
      ...summaryOf(operation, tools, finder),
      description,
      ...(route.roles ? { roles: route.roles } : {}),
      asks_the_user: access.mayAsk,
      input_schema: argumentSchema,
    };
  }
  const wanted = wordsOf(query);
  const found = tools
    .operationsFor(finder.role)
    .map((operation) => ({ operation, points: score(operation, wanted) }))
    .filter(({ points }) => points > 0)
    .sort((one, other) => other.points - one.points);
  return {
    operations: found.slice(0, MAX_FOUND).map(({ operation }) => summaryOf(operation, tools, finder)),
    found: found.length,
  };
}
