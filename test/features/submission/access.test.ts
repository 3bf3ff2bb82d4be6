// What the account shows of SMTP submission are the ports of the role, and none where it does not run.
import { expect, it } from '@jest/globals';
import { loadConfig } from '../../../src/config.ts';
import { submissionAccessOf } from '../../../src/features/submission/schema.ts';

it.each([
  ['no ports', {}, null],
  ['no port at all', { SUBMISSION_PORTS: 'none', SUBMISSION_TLS_PORTS: 'none' }, null],
  ['TLS ports without a certificate', { SUBMISSION_PORTS: 'none', SUBMISSION_TLS_PORTS: '465' }, null],
  [
    'a certificate, behind a proxy',
    { SUBMISSION_PORTS: '587,2526', SUBMISSION_TLS_CERT_FILE: 'smtp.pem' },
    { host: null, ports: [587, 2526], tls_ports: [465], tls: true },
  ],
  [
    'the certificate of the mail role, and a name',
    { SUBMISSION_TLS_PORTS: '465', MAIL_TLS_CERT_FILE: 'mx.pem', SUBMISSION_LISTEN_HOST: 'smtp.example.com' },
    { host: 'smtp.example.com', ports: [587], tls_ports: [465], tls: true },
  ],
  [
    'development',
    { CARILLON_DEV: 'true', SUBMISSION_PORTS: '2587', SUBMISSION_TLS_PORTS: 'none' },
    { host: '127.0.0.1', ports: [2587], tls_ports: [], tls: false },
  ],
])('is right with %s', (_name, settings, expected) => {
  expect(submissionAccessOf(loadConfig(settings))).toEqual(expected);
});
