/** Index of a flow's messages in the queue. It is built after the column was added, so that no sender waits for it. */
export const name = '0088_queued_flows';

export const up = `
create index send_queue_flow on send_queue (flow_id, message_id) where flow_id is not null;
`;

export const down = `
drop index send_queue_flow;
`;
