/** Of runs past their retention only the last of each contact stays, and goes when its flow is archived. */
export const name = '0084_flow_run_retention';

export const up = `
create index flow_runs_last on flow_runs (flow_id, contact_id) where record = '{}';
comment on index flow_runs_last is 'runs past their retention, of which only the row is left: it decides whether a contact may enter again';
`;

export const down = `
drop index flow_runs_last;
`;
