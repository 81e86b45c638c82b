// Graphile Worker: jobs are fetched into a local queue, and completed in batches without a delay.
'use strict'
const { run: work, makeWorkerUtils, Logger } = require('graphile-worker')
const { chunk, dsn, payload, run } = require('./harness.cjs')

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
    for (let first = 0; first < number; first += chunk) {
      const length = Math.min(chunk, number - first)
      await utils.addJobs(Array.from({ length }, (_, i) => ({ identifier: 'noop', payload: payload(first + i) })))
    }
  },
  enqueue: (utils, identifier, i) => utils.addJob(identifier, { i }),
  work: async ({ noop, stamp }) => {
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
    const taskList = { noop, lat: async ({ i }) => stamp(i) }
    await (await work({ preset, taskList })).promise
  }
})
