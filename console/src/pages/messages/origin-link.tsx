import type { Schemas } from '../../api/client.ts';
import { BrandLink } from '../../ui/links.tsx';

/** What sent the message: a campaign, a flow, or a request to the API. */
export function OriginLink({ message }: { message: Schemas['Message'] }) {
  const { campaign_id: campaign, flow_id: flow, test } = message;
  if (campaign !== null) return <BrandLink to={`/campaigns/${campaign}`}>Campaign {campaign}</BrandLink>;
  if (flow !== null) return <BrandLink to={`/flows/${flow}`}>Flow {flow}</BrandLink>;
  return <span className="muted">{test ? 'Test' : 'API'}</span>;
}
