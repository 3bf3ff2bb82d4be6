import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../../api/client.ts';
import { Card, DetailList } from '../../ui/details.tsx';
import { accountQuery } from '../account/account-query.ts';

type Submission = NonNullable<Schemas['Account']['submission']>;

function portText({ ports, tls_ports: tlsPorts, tls }: Submission): string {
  const withTls = tlsPorts.map((port) => `${port} with TLS`);
  return [...ports.map((port) => (tls ? `${port} with STARTTLS` : String(port))), ...withTls].join(', or ');
}

/** What to enter into a program that sends mail by SMTP. Nothing if the settings of the API name no port for it. */
export function SmtpCard() {
  const { data } = useQuery(accountQuery);
  const submission = data?.submission;
  if (!submission) return null;
  const { hostname } = globalThis.location;
  return (
    <Card title="Send from any program">
      <p>
        WordPress, GitLab, a shop or a printer sends through Carillon if you enter this as its mail server
        (SMTP). Its mails are listed under Messages.
      </p>
      <DetailList
        items={[
          ['Host', submission.host ?? `${hostname}, unless your operator has named another`],
          ['Port', portText(submission)],
          ['User', 'any text, such as carillon'],
          ['Password', 'an API key, best one that can only send'],
          ['Sender', 'an address of a verified domain'],
        ]}
      />
    </Card>
  );
}
