import { Client, Connection, isGrpcServiceError, NamespaceNotFoundError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { requireSettings, type Config } from '../../config.ts';
import { engineTls, type TlsSettings } from './tls.ts';

/** Time limit of one call to the engine, in ms. It also detects a network that drops packets. */
const CALL_MS = 10_000;

/** gRPC codes that concern the request, not the engine's health. */
const INVALID_ARGUMENT = 3;
const NOT_FOUND = 5;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const requestFaults: number[] = [INVALID_ARGUMENT, NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION];

/** A client of one namespace; see {@link Engine}. */
export type EngineClient = Client;

/** The engine, which may be unavailable: every call may fail, and nothing here retries it. */
export interface Engine {
  readonly client: Client;
  readonly namespace: string;
  /**
   * @returns the id that the engine gave the namespace; a different one means that the engine lost its data
   * @throws if the engine is unavailable
   */
  namespaceId(): Promise<string>;
  close(): Promise<void>;
}

/** The settings of {@link openEngine} and {@link connectWorkers}. */
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
 * Opens a client. It connects at its first call, and again whenever the connection is lost.
 * @throws ConfigError if no address is set, or a TLS file cannot be used
 */
export function openEngine(config: EngineSettings): Engine {
  const connection = Connection.lazy({
    ...commonOptions(config),
    // Callers decide about retries. Those of the library would take up to half a minute for a call.
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

/** Runs calls to the engine with a time limit. @throws ServiceError and the library's other errors, like `work` */
export function callEngine<T>(client: Client, work: () => Promise<T>): Promise<T> {
  return client.connection.withDeadline(Date.now() + CALL_MS, work);
}

/** Opens a connection for polling. @throws if the engine is unavailable */
export function connectWorkers(config: EngineSettings): Promise<NativeConnection> {
  return NativeConnection.connect(commonOptions(config));
}

/** Finds the gRPC error, which has a code, inside an error of the library. */
export function grpcErrorOf(error: unknown) {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (isGrpcServiceError(at)) return at;
  }
  return undefined;
}

/** The engine's own message; the library's message names only the call. */
export function reasonOf(error: unknown): string {
  return grpcErrorOf(error)?.details ?? (error instanceof Error ? error.message : String(error));
}

/**
 * Whether an error concerns only this request: the engine understood and refused it, or the request could not be
 * encoded. Any other error (unreachable, overloaded, no such namespace, no permission) would affect every request.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return false;
  const code = grpcErrorOf(error)?.code;
  return code === undefined || requestFaults.includes(code);
}
