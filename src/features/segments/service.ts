/** What other features call. It imports nothing of contacts, whose service imports it. */
export { type Audience, compileFilters, loadConditions, segmentCondition } from './conditions.ts';
export { type ContactFacts, matches } from './memory.ts';
export type { SqlCondition } from './sql.ts';
