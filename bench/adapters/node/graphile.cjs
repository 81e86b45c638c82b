// Graphile Worker: jobs are fetched into a local queue, and completed in batches without a delay.
'use strict'
const { run: work, makeWorkerUtils, Logger } = require('graphile-worker')
const { dsn, run } = require('./harness.cjs')

const CHUNK = 20_000
const quiet = new Logger(() => () => {})
const { BENCH_LOCAL_QUEUE: localQueue, BENCH_CONCURRENCY: concurrency, BENCH_POOL: pool } = process.env

async function connect () {
  const utils = await makeWorkerUtils({ connectionString: dsn, logger: quiet })
  await utils.withPgClient((client) => client.query('select 1'))
  return utils
}

run({
  connect,
  setup: async () => (await connect()).migrate(),
  enqueueMany: async (utils, number) => {
    for (let first = 0; first < number; first += CHUNK) {
      const length = Math.min(CHUNK, number - first)
      await utils.addJobs(Array.from({ length }, (_, i) => ({ identifier: 'noop', payload: { i: first + i } })))
    }
  },
  enqueue: (utils, identifier, i) => utils.addJob(identifier, { i }),
  work: async ({ tick, stamp }) => {
    const preset = {
      worker: {
        connectionString: dsn,
        concurrentJobs: Number(concurrency),
        maxPoolSize: Number(pool),
        localQueue: { size: Number(localQueue) },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: quiet
      }
    }
    const taskList = { noop: async () => tick(), lat: async (payload) => stamp(payload.i) }
    await (await work({ preset, taskList })).promise
  }
})
