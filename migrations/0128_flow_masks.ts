/**
 * Refuses masks of headers without the type that has them. The indexes before are built without this lock, which stops
 * the runs of flows.
 */
export const name = '0128_flow_masks';

export const up = `
-- Workers of older versions would send masks as they are. They do not know the type of steps with masks, so such steps
-- wait for a worker that does. A process that stores masks without that type is refused.
alter table flow_versions add constraint flow_versions_masks check (
  not jsonb_path_exists(steps, '$.** ? (@.type == "webhook").headers.* ? (@ starts with "••••")')
  or not flow_steps_match(steps, '$ ? (@.type == "webhook").headers.* ? (@ starts with "••••")')) not valid;
`;

export const down = 'alter table flow_versions drop constraint flow_versions_masks';
