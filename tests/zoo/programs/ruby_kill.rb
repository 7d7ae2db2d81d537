# SPDX-License-Identifier: MIT
# Threads that wait in calls are killed: 20 in the open() of a FIFO, 20 in the read() of a pipe.
File.mkfifo("fifo")
killed = [-> { File.open("fifo") }, -> { IO.pipe[0].read }].map do |wait|
  20.times.count do
    thread = Thread.new(&wait)
    sleep 0.01
    thread.kill.join(5)
  end
end
p killed
require_relative "ruby"
