/** Finds the messages of a flow in the queue. Apart from the column, so that no sender waits for the index to be built. */
export const name = '0088_queued_flows';

export const up = `
create index send_queue_flow on send_queue (flow_id, message_id) where flow_id is not null;
`;

export const down = `
drop index send_queue_flow;
`;
