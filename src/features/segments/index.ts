/** The entry for other features. It must not import the feature contacts, whose service imports it. */
export {
  compileConditions,
  compileFilters,
  loadConditions,
  referenceProblems,
  segmentCondition,
} from './conditions.ts';
export {
  closeFilters,
  type ClosedSegments,
  expandFilters,
  type NamedByFilters,
  namesCampaign,
  readsEvents,
} from './closed.ts';
export {
  type Condition,
  type FlowNames,
  MAX_DEPTH,
  MAX_FILTERS,
  type Operand,
  STEP_REF,
  type StepName,
  timeColumns,
} from './language.ts';
export { constantOf, fold, type SimulatedChanges } from './fold.ts';
export { type ContactInMemory, isPresent, matches, valueAt } from './memory.ts';
export { type Filter, filterShape, parseFilters, type Problem } from './parse.ts';
export { keysOfName } from './name-path.ts';
export { withStepIds } from './step-names.ts';
export { unrenderedProblems } from './unrendered.ts';
export type { SqlCondition } from './sql.ts';
