// The adapter protocol in Node: writes counts and start times like bench/tally.py; Python measures the calls.
'use strict'
const fs = require('fs')
const path = require('path')
const readline = require('readline')
const { randomBytes } = require('crypto')
const { performance } = require('perf_hooks')

const { BENCH_STATS_DIR: folder, BENCH_PGDSN: dsn } = process.env
const { BENCH_HANDLER_MS: ms, BENCH_PAYLOAD_BYTES: bytes, BENCH_CHUNK: chunk } = process.env
// The same as in bench/asked.py.
const text = bytes && randomBytes(Number(bytes)).toString('base64').slice(0, Number(bytes))
const payload = (i) => text ? { i, text } : { i }
const now = () => BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n

const counts = Buffer.alloc(24)
let countsFile = -1
let executed = 0
let last = 0n
let unwritten = false

// One write per iteration of the event loop: one per task would cost more than the peers' own work.
function write () {
  unwritten = false
  counts.writeBigInt64LE(BigInt(executed), 0)
  counts.writeBigInt64LE(last, 16)
  fs.writeSync(countsFile, counts, 0, counts.length, 0)
}

function tick () {
  last = now()
  if (countsFile < 0) {
    countsFile = fs.openSync(path.join(folder, `${process.pid}.counts`), 'w')
    counts.writeBigInt64LE(last, 8)
  }
  executed++
  if (!unwritten) {
    unwritten = true
    setImmediate(write)
  }
}

// The no-op task. If it does not wait, `tick` is sufficient.
async function noop () {
  tick()
  if (ms) await new Promise((resolve) => setTimeout(resolve, Number(ms)))
}

let stampsFile = -1
function stamp (number) {
  const started = now()
  if (stampsFile < 0) stampsFile = fs.openSync(path.join(folder, `${process.pid}.stamps`), 'a')
  fs.writeSync(stampsFile, `${number} ${started}\n`)
}

// Reports that it is connected, waits until the measurement begins, and reports its CPU seconds at the end.
async function watched (call) {
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  console.log('ready')
  await lines.next()
  const before = process.cpuUsage()
  await call()
  const { user, system } = process.cpuUsage(before)
  console.log(JSON.stringify({ cpu_s: (user + system) / 1e6 }))
}

// Enqueues a task for each number, one every `interval` seconds, and reports when each call began and returned.
async function send (numbers, interval, enqueue) {
  const sent = []
  const began = performance.now()
  for (const [beat, number] of numbers.entries()) {
    const wait = began + beat * interval * 1000 - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const before = now()
    await enqueue(number)
    sent.push([number, String(before), String(now())])
  }
  console.log(JSON.stringify({ sent }))
}

// Runs the subcommand of the command line. `peer` has setup, connect, enqueueMany, enqueue and work.
async function main (peer) {
  const [command, first, second] = process.argv.slice(2)
  if (command === 'work') return await peer.work({ noop, tick, stamp })
  if (command === 'setup') {
    await peer.setup()
  } else {
    const connected = await peer.connect()
    if (command === 'enqueue') await watched(() => peer.enqueueMany(connected, Number(first)))
    if (command === 'enqueue-single') await watched(() => each(Number(first), (i) => peer.enqueue(connected, 'noop', i)))
    if (command === 'send') await send(JSON.parse(first), Number(second), (i) => peer.enqueue(connected, 'lat', i))
  }
  process.exit(0)
}

async function each (number, call) {
  for (let i = 0; i < number; i++) await call(i)
}

exports.chunk = Number(chunk)
exports.dsn = dsn
exports.payload = payload
exports.waits = Boolean(ms)
exports.run = (peer) => main(peer).catch((error) => { console.error(error); process.exit(1) })
