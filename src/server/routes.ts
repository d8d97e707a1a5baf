/** Every operation of the HTTP interface. `openapi.json` describes them; a test holds the two against each other. */
import { append } from './append.ts';
import { getOpenApi, getPage, getPageFile } from './assets.ts';
import { deleteConsumer, getConsumer, getPublisher, listConsumers, putConsumer } from './consumers.ts';
import { follow } from './follow.ts';
import { getOverview } from './overview.ts';
import { readOne, readRange } from './read.ts';
import type { Route } from './router.ts';
import { getHealth, getMetrics, getReadiness, getStats } from './status.ts';
import { deleteStream, getStream, listStreams, patchStream, putStream, trimStream } from './streams.ts';

const STREAM = '/v1/streams/{stream}';
const CONSUMER = `${STREAM}/consumers/{consumer}`;
const PLACE = ['from', 'consumer', 'onTrimmed', 'limit'];

const open = (operation: string, path: string, handle: Route['handle']): Route => ({
  method: 'GET',
  path,
  operation,
  query: [],
  isOpen: true,
  handle,
});

const guarded = (
  operation: string,
  method: Route['method'],
  path: string,
  handle: Route['handle'],
  query: readonly string[] = [],
): Route => ({ method, path, operation, query, handle });

export const ROUTES: readonly Route[] = [
  open('getHealth', '/healthz', getHealth),
  open('getReadiness', '/readyz', getReadiness),
  open('getOpenApi', '/openapi.json', getOpenApi),
  open('getPage', '/', getPage),
  open('getPageFile', '/assets/{file}', getPageFile),
  guarded('getMetrics', 'GET', '/metrics', getMetrics),
  guarded('getStats', 'GET', '/v1/stats', getStats),
  guarded('getOverview', 'GET', '/v1/overview', getOverview, ['since']),
  guarded('listStreams', 'GET', '/v1/streams', listStreams, ['after', 'contains', 'details', 'limit']),
  guarded('getStream', 'GET', STREAM, getStream),
  guarded('putStream', 'PUT', STREAM, putStream),
  guarded('patchStream', 'PATCH', STREAM, patchStream),
  guarded('deleteStream', 'DELETE', STREAM, deleteStream),
  guarded('trimStream', 'POST', `${STREAM}/trim`, trimStream),
  guarded('appendRecords', 'POST', `${STREAM}/records`, append, ['create', 'format', 'keyField', 'key', 'timestamp']),
  guarded('readRecords', 'GET', `${STREAM}/records`, readRange, [...PLACE, 'preview']),
  guarded('readRecord', 'GET', `${STREAM}/records/{offset}`, readOne),
  guarded('followStream', 'GET', `${STREAM}/follow`, follow, PLACE),
  guarded('listConsumers', 'GET', `${STREAM}/consumers`, listConsumers),
  guarded('getConsumer', 'GET', CONSUMER, getConsumer),
  guarded('putConsumer', 'PUT', CONSUMER, putConsumer, ['durable']),
  guarded('deleteConsumer', 'DELETE', CONSUMER, deleteConsumer, ['durable']),
  guarded('getPublisher', 'GET', `${STREAM}/publishers/{publisher}`, getPublisher),
];
