// A small client of the Kinesis stand-in, by hand: `node kinesis.mjs ENDPOINT COMMAND ...`, inside the bed's network.
//
//   create NAME SHARDS      makes a stream and waits until it is there
//   feed NAME FILE RATE     puts the lines of FILE over and over, RATE a second, keyed by their `turbine`. Each time
//                           around, their `at` is as much later as FILE is long, so that time goes on.
//   read NAME               prints all records of a stream, a line each, shard by shard
//
// Requests are what an AWS client sends, with a signature that the stand-in does not check.
import { readFileSync } from 'node:fs';

const [endpoint, command, ...rest] = process.argv.slice(2);
const BETWEEN_TRIES = 200;
const A_SECOND = 1000;
const PUTS_A_SECOND = 5;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function call(action, body) {
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': `Kinesis_20131202.${action}`,
      'x-amz-date': new Date().toISOString().replace(/[-:]|\.\d+/g, ''),
      authorization:
        'AWS4-HMAC-SHA256 Credential=test/20260101/eu-west-1/kinesis/aws4_request, SignedHeaders=host;x-amz-date, Signature=0',
    },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${action}: ${answer.status} ${text}`);
  return text === '' ? {} : JSON.parse(text);
}

async function create(name, shards) {
  await call('CreateStream', { StreamName: name, ShardCount: Number(shards) });
  for (;;) {
    const { StreamDescriptionSummary: summary } = await call('DescribeStreamSummary', { StreamName: name });
    if (summary.StreamStatus === 'ACTIVE') return;
    await pause(BETWEEN_TRIES);
  }
}

async function feed(name, file, rate) {
  const records = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
  const times = records.map((record) => Date.parse(record.at));
  const length = Math.max(...times) - Math.min(...times) + A_SECOND;
  const atOnce = Math.max(1, Math.round(Number(rate) / PUTS_A_SECOND));
  let next = 0;
  const entry = () => {
    const record = records[next % records.length];
    const later = Math.floor(next / records.length) * length;
    next += 1;
    const at = new Date(Date.parse(record.at) + later).toISOString();
    const data = Buffer.from(JSON.stringify({ ...record, at })).toString('base64');
    return { Data: data, PartitionKey: record.turbine };
  };
  for (;;) {
    const began = Date.now();
    const { FailedRecordCount: failed } = await call('PutRecords', {
      StreamName: name,
      Records: Array.from({ length: atOnce }, entry),
    });
    if (failed > 0) throw new Error(`${failed} records were refused`);
    await pause(Math.max(0, (atOnce * A_SECOND) / Number(rate) - (Date.now() - began)));
  }
}

async function read(name) {
  const { Shards: shards } = await call('ListShards', { StreamName: name });
  for (const { ShardId: shard } of shards) {
    let { ShardIterator: iterator } = await call('GetShardIterator', {
      StreamName: name,
      ShardId: shard,
      ShardIteratorType: 'TRIM_HORIZON',
    });
    for (let more = true; more; ) {
      const page = await call('GetRecords', { ShardIterator: iterator });
      for (const { Data: data } of page.Records) console.log(Buffer.from(data, 'base64').toString().trimEnd());
      iterator = page.NextShardIterator;
      more = page.Records.length > 0 && Boolean(iterator);
    }
  }
}

const commands = { create, feed, read };
if (!Object.hasOwn(commands, command)) {
  console.error('usage: node kinesis.mjs ENDPOINT create NAME SHARDS | feed NAME FILE RATE | read NAME');
  process.exit(2);
}
try {
  await commands[command](...rest);
} catch (error) {
  console.error(`kinesis.mjs: ${command}: ${error.message}`);
  process.exit(1);
}
