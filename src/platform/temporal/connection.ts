import { Client, Connection, isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { requireSettings, type Config } from '../../config.ts';
import { engineTls, type TlsSettings } from './tls.ts';

/** Longest that one call to the engine may take; a network that swallows packets is noticed by it. */
const CALL_MS = 10_000;

/** gRPC codes that are about the request and not about the engine's health. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const requestFaults: number[] = [INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION];

/** Sends to one namespace; see {@link Engine}. */
export type EngineClient = Client;

/** The engine, which may be away: nothing here waits for it, and every call may fail and be repeated later. */
export interface Engine {
  readonly client: Client;
  readonly namespace: string;
  /**
   * @returns the id that the engine gave the namespace; another one means that it forgot everything
   * @throws where the engine is away
   */
  namespaceId(): Promise<string>;
  close(): Promise<void>;
}

/** What {@link openEngine} and {@link connectWorkers} read of the settings. */
export type EngineSettings = TlsSettings & Pick<Config, 'TEMPORAL_NAMESPACE'>;

function commonOptions(config: EngineSettings) {
  const { TEMPORAL_ADDRESS: address } = requireSettings(config as Config, 'TEMPORAL_ADDRESS');
  const found = engineTls(config);
  const tls = found && {
    ...(found.ca ? { serverRootCACertificate: found.ca } : {}),
    ...(found.client ? { clientCertPair: { crt: found.client.certificate, key: found.client.key } } : {}),
  };
  return {
    address,
    ...(tls ? { tls } : {}),
    ...(config.TEMPORAL_API_KEY ? { apiKey: config.TEMPORAL_API_KEY } : {}),
  };
}

/**
 * Open a client. It connects at its first call and again whenever the connection was lost.
 * @throws ConfigError where no address is set, or a TLS file cannot be used
 */
export function openEngine(config: EngineSettings): Engine {
  const connection = Connection.lazy({
    ...commonOptions(config),
    // Repeating is for those who know what is at stake: the library would hold a call for half a minute.
    interceptors: [],
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.min_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 2_000,
    },
  });
  const namespace = config.TEMPORAL_NAMESPACE;
  const client = new Client({ connection, namespace });
  return {
    client,
    namespace,
    async namespaceId() {
      const described = await callEngine(client, () =>
        connection.workflowService.describeNamespace({ namespace }),
      );
      return described.namespaceInfo?.id ?? '';
    },
    close: () => connection.close(),
  };
}

/**
 * Run calls to the engine with a time limit.
 * @throws ServiceError and the library's other errors, as `work` does
 */
export function callEngine<T>(client: Client, work: () => Promise<T>): Promise<T> {
  return client.connection.withDeadline(Date.now() + CALL_MS, work);
}

/** Connect for polling. @throws where the engine is away */
export function connectWorkers(config: EngineSettings): Promise<NativeConnection> {
  return NativeConnection.connect(commonOptions(config));
}

/** The engine's or the network's answer within an error of the library, with its code. */
export function grpcErrorOf(error: unknown) {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (isGrpcServiceError(at)) return at;
  }
  return undefined;
}

/** What the engine said; the library's own message only says what was asked. */
export function reasonOf(error: unknown): string {
  return grpcErrorOf(error)?.details ?? (error instanceof Error ? error.message : String(error));
}

/**
 * Whether an error is about this one request, which the engine understood and refused, or which could not even be
 * written; all else (unreachable, overloaded, no such namespace, no permission) would meet every request alike.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return false;
  const code = grpcErrorOf(error)?.code;
  return code === undefined || requestFaults.includes(code);
}
