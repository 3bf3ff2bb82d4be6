/** Flows, for other features and roles. */
export {
  decideFlow,
  listFlowsForOperator,
  type OperatorFlow,
  type OperatorFlowView,
  showFlowForOperator,
} from './approvals.ts';
export { createFlowDraftForm } from './draft-form.ts';
export { findFlow, findFlowById, type FlowRow, type FlowStop } from './model.ts';
export { archiveFlow, pauseFlow, resumeFlow } from './transitions.ts';
